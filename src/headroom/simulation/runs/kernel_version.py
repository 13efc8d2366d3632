"""The version of the stored results of a simulation, for a given model and seed."""

KERNEL_VERSION = "0.1.0"
"""The release since which results have the same bits; a part of every fingerprint of a model.

Raise it whenever the kernel, the builder or the conversion of results may change the stored results
of a model and a seed (between two releases as "0.2.0-2"): stored simulations are then run again.
`tests/test_kernel_version.py` holds the results of a set of models.
"""
