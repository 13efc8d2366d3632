"""The compiled functions of storage; `native.pyi` has their types."""

from headroom import _core

globals().update(
    {name: value for name, value in vars(_core.layers["storage"]).items() if name[0] != "_"}
)
