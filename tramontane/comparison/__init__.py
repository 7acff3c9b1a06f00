"""Agreement with what others measured, on other simulators and on real machines.

`rows` reads a file of points, `points` turns a row into one of ours, `execution` runs them, `statistics` says how they
agree, and `measured` puts these together; `presentation` and `dataset` are the two ways to look at it. `predictions`
judges times that were predicted, which `judgement` shows. Nothing is imported here, because the processes that run the
points need next to nothing.
"""
