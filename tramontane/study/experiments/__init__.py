"""Experiments and their expansion into points, studies of uncertainty, and what papers state."""
