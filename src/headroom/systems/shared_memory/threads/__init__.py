"""Programs that share memory, run on the threads of this machine."""
