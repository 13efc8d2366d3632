"""Storage: an honest performance test of real devices and file systems, and models of devices."""
