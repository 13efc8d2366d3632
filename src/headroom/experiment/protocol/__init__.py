"""The interfaces and data of plug-ins: systems, runs, fit methods."""
