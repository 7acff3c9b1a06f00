"""Real machines through ReFrame: its settings, the cases it runs, and what its report holds."""
