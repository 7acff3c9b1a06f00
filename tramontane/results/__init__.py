"""What has been found out: one record a point, one dataset an experiment, and where each came from."""
