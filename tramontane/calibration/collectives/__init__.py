"""From times of collectives on a real machine to a machine file for the simulator (docs/calibration.md)."""
