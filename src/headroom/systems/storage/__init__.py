"""Storage: honest performance tests of real devices and file systems, and models of devices."""
