"""What stands for the members of an ensemble: their median; and how well each of them is known."""

from collections.abc import Hashable, Sequence

import xarray as xr

#: Variables that are a choice: of an even number of members the lower of the two in the middle stands for all, for
#: nothing was ever run with what lies between them.
CHOICES = ("best_radix",)


def middle(values: xr.DataArray, over: Sequence[Hashable]) -> xr.DataArray:
    """Return the median of a variable over some dimensions; of a choice, one that was made.

    Parameters
    ----------
    values : DataArray
        With its name in the dataset; NaN where there is no result.
    over : sequence
        The dimensions, none of them for the variable itself.
    """
    if over and values.name in CHOICES:
        return values.quantile(0.5, over, method="lower").drop_vars("quantile")
    return values.median(over)


def ends(dataset: xr.Dataset, name: str) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the ends of the interval of each value of a variable: itself, but for times of sampled stages.

    Of these it is that in which the time of all stages lies with a confidence of 95 %.
    """
    values = dataset[name]
    if name != "time_s" or "stages_left_out" not in dataset:
        return values, values
    error = dataset["steady_error"].where(dataset["stages_left_out"] > 0, 0.0)
    return (values * (1 - error)).clip(min=0), values * (1 + error)
