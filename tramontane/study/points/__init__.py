"""Points: what a substrate runs, what it sends and what it will cost."""
