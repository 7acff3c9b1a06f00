"""Predict larger jobs from the measured medians of smaller ones, and print what leaving out a shape costs.

A closed-form model, not the simulator: the messages an algorithm sends one after another, each costing
``a + r sqrt(m) + g m`` (software, protocol, rate), the bytes slowed where flows share a link of the torus.
The square root is empirical: it stands for the protocols between short and long messages.

Usage: ``python validation/predict_measured.py`` (from the repository's root) writes
the tables of ``validation/predictions`` and prints the cross-validation.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

HERE = Path(__file__).parent
# Tofu-D's rate of a link: 6.8 GB/s (Ajima et al., CLUSTER 2018); in bytes per microsecond.
TOFU_LINK = 6800.0
# Weak priors keep a cost that the rows don't show near an ordinary value: (log mean, log sigma)
# of us a message, us per sqrt(byte), us per byte.
PRIORS = ((math.log(4.0), 1.5), (math.log(0.02), 2.0), (math.log(2e-4), 1.5))
# Leonardo's all-to-alls have no given row: the allreduce whose messages resemble theirs lends its costs.
LENT = {"bruck": "recursive-doubling", "pairwise": "ring", "linear": "ring", "linear-sync": "ring"}
KEYS = ["machine", "operation", "algorithm"]
COLUMNS = ["machine", "shape", "nodes", "operation", "algorithm", "bytes"]


def sides(shape: str, nodes: int) -> list[int]:
    """Sides of the physical torus assumed: a two-dimensional shape is taken as folded into a near-cube."""
    given = [int(part) for part in shape.split("x")]
    if len(given) == 3:
        return given
    bits = round(math.log2(nodes))
    return [2 ** ((bits + extra) // 3) for extra in range(3)]


def messages(row: pd.Series) -> tuple[float, float, float, float]:
    """Messages in sequence, bytes of each, factor on the bytes by shared links, least time of the torus (us)."""
    nodes, size, steps = row.nodes, row.bytes, math.ceil(math.log2(row.nodes))
    torus = sides(row["shape"], nodes) if row.machine == "fugaku" else []
    if row.operation == "alltoall":
        if row.algorithm == "bruck":
            floor = max(torus, default=0) * nodes * size / 2 / TOFU_LINK
            return steps, nodes * size / 2, 1.0, floor
        floor = max(torus, default=0) * nodes * size / 8 / TOFU_LINK
        return nodes - 1, size, 1.0, floor
    if row.algorithm == "ring":
        return 2 * (nodes - 1), size / nodes, 1.0, 0.0
    if row.algorithm == "rabenseifner":
        return 2 * steps, size * (nodes - 1) / nodes / steps, 1.0, 0.0
    # Partners at distance d along an axis share its links d times (recursive doubling on a torus).
    shared = sum(side - 1 for side in torus) / steps if torus else 1.0
    extra = 0 if nodes == 2**steps else 1  # the rest folds in before and out after
    return steps + extra, size, shared, 0.0


def terms(rows: pd.DataFrame) -> np.ndarray:
    """One line a row: count, bytes, factor, floor."""
    return np.array([messages(row) for _, row in rows.iterrows()], dtype=float)


def cost(log_costs: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return the times in us of the rows of `table` for the logarithms of a, r and g."""
    a, r, g = np.exp(log_costs)
    count, size, factor, floor = table.T
    times: np.ndarray = np.maximum(count * (a + r * np.sqrt(size) + g * size * factor), floor)
    return times


def fit(rows: pd.DataFrame) -> np.ndarray:
    """Costs of one algorithm on one machine: soft-L1 log residuals, as shared machines have outliers."""
    table, target = terms(rows), np.log(rows.median_us.to_numpy())
    mean, sigma = np.array(PRIORS).T

    def residuals(x: np.ndarray) -> np.ndarray:
        return np.concatenate([(np.log(cost(x, table)) - target) / 0.3, (x - mean) / sigma])

    found: np.ndarray = least_squares(residuals, mean, loss="soft_l1").x
    return found


def lender(machine: str, operation: str, algorithm: str) -> tuple[str, str, str]:
    """Name the group whose costs a row uses."""
    if machine == "leonardo" and operation == "alltoall":
        return machine, "allreduce", LENT[algorithm]
    return machine, operation, algorithm


def predict(given: pd.DataFrame, rows: pd.DataFrame) -> pd.Series:
    """Medians in us; NaN where no given row shows the machine's algorithm."""
    found = pd.Series(np.nan, index=rows.index)
    groups = dict(iter(given.groupby(KEYS)))
    for (machine, operation, algorithm), part in rows.groupby(KEYS):
        source = groups.get(lender(str(machine), str(operation), str(algorithm)))
        if source is not None:
            found[part.index] = cost(fit(source), terms(part))
    return found


def left_out(given: pd.DataFrame, column: str) -> pd.DataFrame:
    """Log residuals (measured over predicted) of rows whose `column` the fit did not see."""
    parts = []
    for (machine, value), part in given.groupby(["machine", column]):
        rest = given[(given.machine != machine) | (given[column] != value)]
        parts.append(part.assign(residual=np.log(part.median_us / predict(rest, part)), left=f"{machine} {value}"))
    return pd.concat(parts).dropna(subset="residual")


def report(table: pd.DataFrame, column: str) -> None:
    """Print the median error and shares within 1.25, 1.5 and 2 by machine and operation."""
    for (machine, operation), part in table.groupby(["machine", "operation"]):
        size = part.residual.abs()
        shares = " ".join(f"{(size <= math.log(f)).mean():4.0%} in {f}" for f in (1.25, 1.5, 2))
        print(f"without its {column:5} {machine:13} {operation:9} rows {len(part):3} "
              f"median error {np.expm1(size.median()):5.0%}; {shares}")  # fmt: skip


def keep_left_out(held: pd.DataFrame) -> None:
    """Write what each row was predicted to take without its shape, with the interval of the other shapes."""
    parts = []
    for left, part in held.groupby("left"):
        ends = held[held.left != left].residual.quantile([0.1, 0.9])
        middle = part.median_us / np.exp(part.residual)
        low, high = middle * min(1.0, math.exp(ends[0.1])), middle * max(1.0, math.exp(ends[0.9]))
        parts.append(part[COLUMNS].assign(median_us=middle, low_us=low, high_us=high))
    rows = pd.concat(parts).drop_duplicates(COLUMNS).sort_index()  # dates and variants share a prediction
    rows.to_csv(HERE / "predictions" / "left-out" / "shape.csv", index=False, float_format="%.4g", lineterminator="\n")


def main() -> None:
    """Cross-validate, then predict."""
    given = pd.read_csv(HERE / "measured" / "pico.csv", dtype={"shape": str})
    given = given[given.algorithm != "library-default"].reset_index(drop=True)
    for column in ("shape", "date", "bytes"):
        report(left_out(given, column), column)
    held = left_out(given, "shape")
    inside = []
    for left, part in held.groupby("left"):
        low, high = held[held.left != left].residual.quantile([0.1, 0.9])
        inside.append(part.residual.between(low, high))
        print(f"coverage of the 80 % interval, {left}: {inside[-1].mean():.0%} of {len(part)}")
        for algorithm, rows in part.groupby("algorithm"):
            print(f"    {algorithm}: measured over predicted, median {math.exp(rows.residual.median()):.2f}")
    print(f"coverage of the 80 % interval, all: {pd.concat(inside).mean():.0%} of {len(held)}")
    keep_left_out(held)
    low, high = held.residual.quantile([0.1, 0.9])
    print(f"interval: {math.exp(low):.2f} to {math.exp(high):.2f} times the prediction")
    wanted = pd.read_csv(HERE / "measured" / "to-predict.csv", dtype={"shape": str})
    wanted["median_us"] = predict(given, wanted)
    # The quantiles are of measured over predicted; a median outside them would be no interval.
    wanted["low_us"] = wanted.median_us * min(1.0, math.exp(low))
    wanted["high_us"] = wanted.median_us * max(1.0, math.exp(high))
    missing = wanted[wanted.median_us.isna()]
    print(f"left out: {len(missing)}", *sorted(set(map(tuple, missing[KEYS].to_numpy()))))
    lent = (wanted.machine == "leonardo") & (wanted.operation == "alltoall")
    for name, part in {"direct": wanted[~lent], "transferred": wanted[lent]}.items():
        target = HERE / "predictions" / f"{name}.csv"
        part.dropna().to_csv(target, index=False, float_format="%.4g", lineterminator="\n")
    print(f"predicted: {len(wanted.dropna())} rows")


if __name__ == "__main__":
    main()
