"""The checks behind `headroom doctor`: causes of bad measurements on this machine.

Invariant: checks read and change nothing; none needs rights. A fact that this machine does not
publish is `unknown`, never guessed.
"""
