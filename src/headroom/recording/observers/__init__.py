"""What the machine and groups of its processes do during a measured run."""
