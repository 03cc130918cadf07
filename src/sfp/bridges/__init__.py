"""Bridges to other learners, runtimes and places; nothing but the CLI imports them."""
