"""What a plug-in implements and what it exchanges: systems, runs, methods of fitting."""
