"""The activity of the machine and of groups of processes during a measured run."""
