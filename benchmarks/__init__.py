"""Benchmarks: `make bench` prints what the simulator does in a second, beside what others do."""
