"""Agents: what acts and learns. One file per method, one function per equation."""
