"""Whether a device keeps what it has confirmed when the power fails."""
