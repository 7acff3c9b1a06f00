"""Calls of collectives, and which algorithm an MPI library chooses for one."""
