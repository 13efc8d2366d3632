"""What spoils measurements on this machine, and the cure: the checks behind `headroom doctor`.

Invariant: checks read, and change nothing; none needs rights. What a machine does not publish is
`unknown`, never guessed.
"""
