"""The interfaces and data of plug-ins: systems, runs, methods of fitting."""
