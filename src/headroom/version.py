"""The version of the installed package."""

from importlib.metadata import version as _installed_version

DISTRIBUTION = "headroom-lab"
"""Name on the package index, where another project is called headroom."""


def version() -> str:
    """Return the version of Headroom, e.g. ``"0.1.0"``.

    Examples
    --------
    >>> version().count(".")
    2
    """
    return _installed_version(DISTRIBUTION)
