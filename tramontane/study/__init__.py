"""What to study: points, machines, experiments, their expansion and what they will cost.

This is the room everything else looks into; see ``docs/configuration.md`` for the YAML it reads.
"""

from tramontane.errors import InputError
from tramontane.study.catalogue import list_experiments, list_machines, load_machine
from tramontane.study.checking import validate_file
from tramontane.study.experiments.expansion import ExpandedPoint, Expansion, expand
from tramontane.study.experiments.experiments import SCALES, Experiment, Figure, load_experiment
from tramontane.study.networks.machines import Machine
from tramontane.study.points.cost import Cost, estimate
from tramontane.study.points.loading import load_point
from tramontane.study.points.points import Point
from tramontane.study.reading.project import find_project, find_root
from tramontane.study.systems.systems import System, list_systems, load_system

__all__ = [
    "SCALES",
    "Cost",
    "ExpandedPoint",
    "Expansion",
    "Experiment",
    "Figure",
    "InputError",
    "Machine",
    "Point",
    "System",
    "estimate",
    "expand",
    "find_project",
    "find_root",
    "list_experiments",
    "list_machines",
    "list_systems",
    "load_experiment",
    "load_machine",
    "load_point",
    "load_system",
    "validate_file",
]
