"""The compiled functions of memory; `native.pyi` has their types."""

from headroom import _core

globals().update(
    {name: value for name, value in vars(_core.layers["memory"]).items() if name[0] != "_"}
)
