"""A point for tests of everything around one."""

from tramontane.study import Point

POINT = Point.model_validate(
    {
        "ranks": 2,
        "workload": {"kind": "allreduce", "algorithm": "ring"},
        "machine": {"topology": "torus", "geometry": [2, 2, 2]},
    }
)
