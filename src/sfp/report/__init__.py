"""Measures, figures, tables and reports."""
