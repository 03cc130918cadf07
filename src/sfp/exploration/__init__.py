"""Exploration before training: explorers, coverage, descriptions, model cards."""
