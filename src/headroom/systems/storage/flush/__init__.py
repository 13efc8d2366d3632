"""Check whether a device keeps confirmed data when the power fails."""
