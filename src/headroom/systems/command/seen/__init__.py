"""What the runs of a command were seen to depend on."""
