"""From what messages cost on a real machine to a machine file for the simulator (docs/mpi.md)."""
