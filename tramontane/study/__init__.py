"""What to study: points, machines, experiments, their expansion and what they will cost.

This is the room everything else looks into; see ``docs/configuration.md`` for the YAML it reads.
"""

from tramontane.study.catalogue import list_experiments, list_machines, load_machine
from tramontane.study.checking import validate_file
from tramontane.study.experiments.expansion import Expansion, expand
from tramontane.study.experiments.experiments import Experiment, load_experiment
from tramontane.study.networks.machines import Machine
from tramontane.study.points.cost import estimate
from tramontane.study.points.loading import load_point
from tramontane.study.points.points import Point
from tramontane.study.reading.project import find_project, find_root
from tramontane.study.systems.systems import System, list_systems, load_system
from tramontane.support.layout import SCALES

__all__ = [
    "SCALES",
    "Expansion",
    "Experiment",
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
