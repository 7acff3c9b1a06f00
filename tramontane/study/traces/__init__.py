"""What ranks did, as operations: traces of MPI, OTF2 and GOAL, and what they say about more ranks."""
