"""Additions to the reference page of the systems of this layer."""

from headroom.experiment.protocol.reference import Reference

MEASURED = Reference(title="Metrics of a database under TPC-C or TPC-B", has_parameters=True)
