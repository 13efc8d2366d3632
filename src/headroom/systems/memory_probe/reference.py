"""Additions to the reference page of this system."""

from headroom.experiment.protocol.reference import Reference

REFERENCE = Reference(title="Metrics of a chase", has_parameters=True)
