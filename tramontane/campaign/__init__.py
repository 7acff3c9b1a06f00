"""How it runs: which points are missing, how they share jobs, and how a run is watched."""
