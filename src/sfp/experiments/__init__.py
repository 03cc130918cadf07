"""Experiments: grids of runs as data, and what runs them."""
