"""Patterns of messages: tables, what makes them, and the exchanges of partitioned meshes."""
