"""Agreement with what others measured: rows of another simulator, the same points on ours, and how far apart they are.

`rows` reads the file, `points` turns a row into a point, `execution` runs the points, `statistics` says how they agree
and `comparison` puts these together; `text` and `dataset` are the two ways to look at it. Nothing is imported here,
because the processes that run the points need next to nothing.
"""
