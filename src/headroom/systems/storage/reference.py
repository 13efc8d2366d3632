"""Additions to the reference page of this system."""

from headroom.experiment.protocol.reference import Reference

REFERENCE = Reference(
    example={"targets": {"memory": {"kind": "file", "path": "{memory}"}}},
    title="Metrics of 4 KiB random reads",
    has_parameters=True,
)
