"""Programs with shared memory on simulated machines."""
