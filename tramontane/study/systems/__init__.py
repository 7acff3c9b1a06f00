"""Real machines, their libraries, and what was measured on them."""
