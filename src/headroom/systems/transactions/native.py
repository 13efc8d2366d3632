"""The compiled functions of this layer; `native.pyi` has their types."""

from headroom import _core

globals().update(
    {name: value for name, value in vars(_core.layers["transactions"]).items() if name[0] != "_"}
)
