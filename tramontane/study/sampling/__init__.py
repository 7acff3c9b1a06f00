"""What is drawn: samples, and the plausible ranges of what papers leave open."""
