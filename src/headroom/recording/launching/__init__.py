"""Starting, clocking and ending programs, through a small native process."""
