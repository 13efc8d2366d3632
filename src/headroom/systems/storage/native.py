"""The compiled functions of storage; `native.pyi` has their types."""

from headroom import _core

globals().update(vars(_core.layers["storage"]))
