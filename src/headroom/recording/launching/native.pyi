"""Types of what the compiled core brings for this layer."""

LAUNCHER: bytes
"""The launcher as an executable file."""
OBSERVER: bytes
"""The observer as an executable file."""
