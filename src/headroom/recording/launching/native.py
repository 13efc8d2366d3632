"""The compiled part of this layer; `native.pyi` has its types."""

from headroom import _core

globals().update(
    {name: value for name, value in vars(_core.layers["recording"]).items() if name[0] != "_"}
)
