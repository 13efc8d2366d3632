"""The command `check-disk`: the study of a disk, for any disk."""
