"""Versions of the packages that decide a result, and the name to install sfp by."""

from importlib import metadata

from sfp import __version__

DISTRIBUTION = "state-free-priors"
"""On the package index `sfp` is another project; only the import is called so."""


def version(package: str) -> str:
    """The version of a package by its name; raises `metadata.PackageNotFoundError`."""
    return __version__ if package == "sfp" else metadata.version(package)


def install(extra: str) -> str:
    """How to install sfp with an optional part."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"
