"""Writes fitted parameters as a machine file."""

from typing import Any

import yaml

from tramontane.calibration.fit import Parameters
from tramontane.study.reading.bounded_yaml import NUMBER
from tramontane.study.values.units import BANDWIDTH, TIME, Dimension, format_quantity

_DIGITS = 3
"""Significant digits that a measurement is worth."""


class _Dumper(yaml.SafeDumper):
    """Puts texts in quotes that only YAML 1.2 takes for numbers, too."""


_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", NUMBER, list("-+.0123456789"))


def settings(parameters: Parameters, nodes: int) -> dict[str, Any]:
    """Return the keys of a machine: one switch that `nodes` nodes share, because only single messages were measured."""
    path = {
        "bandwidth": quantity(parameters.bandwidth, BANDWIDTH),
        "latency": quantity(parameters.latency * 1e12, TIME),
    }
    memory = {} if parameters.copies is None else {"memory": {"bandwidth": quantity(parameters.copies, BANDWIDTH)}}
    return {
        "topology": "torus",
        "geometry": [1, 1, 1],
        "nodes_per_switch": nodes,
        "link": dict(path),
        "injection": dict(path),
        **memory,
        # Copies take what `memory` says, and nothing for the instructions.
        "processor": {"frequency": "1000 GHz"},
        "overhead": {
            "send": quantity(parameters.send * 1e12, TIME),
            "receive": quantity(parameters.receive * 1e12, TIME),
        },
        "protocol": {"eager_limit": f"{parameters.eager_limit} B", "short_limit": f"{parameters.eager_limit} B"},
    }


def text(machine: dict[str, Any], description: str, source: str) -> str:
    """Return the machine file."""
    content = {"description": description, "source": source, **machine}
    head = "# yaml-language-server: $schema=../../workflow/schemas/machine.schema.json\n"
    return head + yaml.dump(
        content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=200, default_flow_style=None
    )


def quantity(value: float, dimension: Dimension) -> str:
    """Return base units, rounded to what they are worth, with a unit."""
    whole = max(1, round(float(f"{value:.{_DIGITS}g}")))
    return format_quantity(whole, dimension)
