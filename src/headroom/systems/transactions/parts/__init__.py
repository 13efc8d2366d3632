"""The parts of a machine: processors, I/O nodes, disks, network."""
