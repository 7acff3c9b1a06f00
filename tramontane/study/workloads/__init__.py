"""What ranks do: workloads, programs of steps, several jobs, and their schedules."""
