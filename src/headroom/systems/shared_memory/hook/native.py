"""The compiled functions of this part; `native.pyi` has their types."""

from headroom import _core

globals().update(
    {
        name: value
        for name, value in vars(_core.layers["shared_memory"]).items()
        if name.startswith("trace_")
    }
)
