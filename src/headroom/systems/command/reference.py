"""Additions to the reference page of this system."""

from headroom.experiment.protocol.reference import Reference

REFERENCE = Reference(example={"argv": ["true"]}, title="Metrics of every command")
