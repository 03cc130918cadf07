"""Training: one run, from the first step to a saved policy."""
