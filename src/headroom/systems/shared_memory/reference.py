"""Additions to the reference page of the systems of this layer."""

from headroom.experiment.protocol.reference import Reference

COHERENCE = Reference(title="Metrics of a search of states", has_parameters=True)
MACHINE = Reference(title="Metrics of a program on a simulated machine", has_parameters=True)
THREADS = Reference(title="Metrics of a program on threads", has_parameters=True)
EMULATED = Reference(
    example={"program": "./program"}, title="Metrics of a program with delayed accesses"
)
ONLINE = Reference(example={"program": "./program"}, title="Metrics of a program simulated online")
