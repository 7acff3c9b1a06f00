"""What every room may use: how numbers and tables are written, where files lie, what this host has.

Nothing here knows what is studied.
"""
