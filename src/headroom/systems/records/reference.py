"""Additions to the reference page of the systems of this layer."""

from headroom.experiment.protocol.reference import Reference

MEASURED = Reference(title="Metrics of a table", has_parameters=True)
MODELLED = Reference(title="Metrics of a modelled table", has_parameters=True)
