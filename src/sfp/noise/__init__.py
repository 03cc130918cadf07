"""Walks: actions correlated in time, without learning."""
