"""Broken input of every kind: drawn by a seed, kept in a corpus, and judged in this process."""
