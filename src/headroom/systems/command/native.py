"""The compiled part of this layer; `native.pyi` has its types."""

from headroom import _core

globals().update(vars(_core.layers["command"]))
