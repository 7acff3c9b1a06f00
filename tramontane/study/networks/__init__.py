"""Networks: machines and their topologies, networks written down as graphs, and where ranks run."""
