"""The progress of a measurement in rounds: one bar for each, and one warning for all."""

from rich.console import Console

from headroom.experiment.runner.progress import Progress


class Rounds:
    """Makes the progress of each round.

    Parameters
    ----------
    console, is_quiet
        As for `Progress`.
    """

    def __init__(self, console: Console, *, is_quiet: bool) -> None:
        self._console = console
        self._is_quiet = is_quiet
        self._warned: set[str] = set()

    def next_round(self) -> Progress:
        """Return the progress of another round."""
        return _Round(self._console, self._warned, is_quiet=self._is_quiet)


class _Round(Progress):
    """Warns once of a busy machine, not in every round: its figures change from look to look."""

    def __init__(self, console: Console, warned: set[str], *, is_quiet: bool) -> None:
        super().__init__(console, is_quiet=is_quiet)
        self._warned = warned

    def warn(self, words: str) -> None:
        """Print the first warning only."""
        if words and not self._warned:
            self._warned.add(words)
            super().warn(words)
