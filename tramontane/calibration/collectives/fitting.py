"""Fits a machine's unknowns to measured rows, with the simulator as the model.

`scipy.optimize.least_squares` is used: a trust region for nonlinear least squares with robust losses (Branch, Coleman
and Li 1999), kept by SciPy and a dependency already. A dozen unknowns and smooth residuals ask for no global optimiser,
and a fit that takes dozens of simulations of each row can't afford one. Unknowns and times are logarithms: a factor of
two counts alike at a microsecond and a second, and no cost becomes negative. Soft L1 lets single rows be wrong. Guesses
hold what the rows don't show.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares

from tramontane.calibration.collectives.parameters import Parameter, Values

#: What a row's logarithm is off by where all is well: chaos of the network, noise of the machine.
SCALE = 0.15
#: Finite differences of the logarithms: large, as a transposition's time is chaotic by per cents.
STEP = 0.15
#: Unknowns are searched within so many spreads of their guesses.
REACH = 3.0
#: Evaluations of all rows, besides those of derivatives.
MOST = 25

#: Times [s] of chosen rows for the unknowns, in the fit to be.
Rows = npt.NDArray[np.intp]
Model = Callable[[Values, Rows], Values]


@dataclass(frozen=True)
class Fit:
    """A fit.

    Attributes
    ----------
    known : tuple of Parameter
        The unknowns.
    values : array
        Of them [ps, ps/B].
    times : array
        Of the rows, by the fit [s].
    slopes : array
        Derivatives of the logarithms of the times (rows) by those of the unknowns (columns).
    measured : array
        Times of the rows [s].
    """

    known: tuple[Parameter, ...]
    values: Values
    times: Values
    slopes: Values
    measured: Values

    @property
    def residuals(self) -> Values:
        """Logarithms of measured over fitted."""
        return np.log(self.measured / self.times)

    @property
    def scatter(self) -> float:
        """A robust standard deviation of the residuals, at least `SCALE`."""
        return max(SCALE, 1.4826 * float(np.median(np.abs(self.residuals))))

    @property
    def covariance(self) -> Values:
        """Of the logarithms of the unknowns, by the slopes at the fit and the guesses' spreads."""
        information = self.slopes.T @ self.slopes / self.scatter**2
        return np.asarray(np.linalg.inv(information + np.diag([own.spread**-2 for own in self.known])), np.float64)

    @property
    def sigma(self) -> Values:
        """Standard deviations of the logarithms of the unknowns."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def correlation(self) -> Values:
        """Between the unknowns."""
        return self.covariance / np.outer(self.sigma, self.sigma)

    @property
    def directions(self) -> list[tuple[float, Values]]:
        """Directions among the logarithms of the unknowns, by how much the rows narrow the guess: weakest first.

        The number is the share of the guess's spread that is left: 1 where the rows say nothing.
        """
        spread = np.array([own.spread for own in self.known])
        information = self.slopes.T @ self.slopes / self.scatter**2 * np.outer(spread, spread)
        values, vectors = np.linalg.eigh(information)
        return [(float((1 + value) ** -0.5), vector) for value, vector in zip(values, vectors.T, strict=True)]


def fit(
    known: tuple[Parameter, ...], measured: Values, model: Model, touched: Values, start: Values | None = None
) -> Fit:
    """Fit the unknowns.

    Parameters
    ----------
    known : tuple of Parameter
        The unknowns with their guesses.
    measured : array
        Times of the rows [s].
    model : callable
        Returns the times of chosen rows: ``model(values, rows)``.
    touched : array of bool
        Whether a row (first index) pays anything of an unknown (second).
    start : array, optional
        Where to begin; the guesses by default.
    """
    guess, spread = np.log([own.guess for own in known]), np.array([own.spread for own in known])
    every = np.arange(len(measured))
    slopes_at: dict[bytes, Values] = {}

    def residuals(x: Values) -> Values:
        off = np.log(model(np.exp(x), every) / measured) / SCALE
        return np.concatenate([off, (x - guess) / spread])

    def slopes(x: Values) -> Values:
        if x.tobytes() not in slopes_at:
            at = np.log(model(np.exp(x), every))
            found = np.zeros((len(measured), len(known)))
            for column in range(len(known)):
                rows = np.flatnonzero(touched[:, column])
                if len(rows):
                    moved = np.exp(x + STEP * np.eye(len(known))[column])
                    found[rows, column] = (np.log(model(moved, rows)) - at[rows]) / STEP
            slopes_at[x.tobytes()] = found
        return slopes_at[x.tobytes()]

    def jacobian(x: Values) -> Values:
        return np.vstack([slopes(x) / SCALE, np.diag(1 / spread)])

    first = guess if start is None else np.log(start)
    bounds = (guess - REACH * spread, guess + REACH * spread)
    x = least_squares(
        residuals, first, jac=jacobian, bounds=bounds, loss="soft_l1", ftol=1e-3, xtol=1e-3, max_nfev=MOST
    ).x
    return Fit(known, np.exp(x), model(np.exp(x), every), slopes(x), measured)


def refit(found: Fit, rows: Sequence[int]) -> Values:
    """Return the unknowns that fit only some rows, by the response of the times around a fit."""
    own = np.asarray(rows)
    guess, spread = np.log([each.guess for each in found.known]), np.array([each.spread for each in found.known])

    def residuals(x: Values) -> Values:
        off = np.log(response(found, np.exp(x), own) / found.measured[own])
        return np.concatenate([off / SCALE, (x - guess) / spread])

    bounds = (guess - REACH * spread, guess + REACH * spread)
    return np.asarray(
        np.exp(least_squares(residuals, np.log(found.values), bounds=bounds, loss="soft_l1").x), np.float64
    )


def response(found: Fit, values: Values, rows: Sequence[int] | Rows) -> Values:
    """Return the times of rows [s] for other unknowns, without simulations.

    A time is linear in costs as long as what waits for what stays the same. So this is T + sum of dT/dc (c - c_0),
    bounded below by a tenth of T.
    """
    own = np.asarray(rows)
    change = found.slopes[own] @ (values / found.values - 1)
    return np.asarray(found.times[own] * np.maximum(1 + change, 0.1), np.float64)
