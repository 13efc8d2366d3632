"""Typed access to the options of one job: each is read once or rejected with its line.

Invariant: options that are never taken are known to change nothing, or are rejected.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from headroom.errors import StudyError
from headroom.experiment.protocol.suggestions import suggestion
from headroom.systems.storage.fio.job_file import Job, Option
from headroom.systems.storage.fio.known import INSTEAD, NO_CHANGE, ONLY_IF
from headroom.systems.storage.fio.numbers import seconds_of, size_of, truth_of

_DIRECTIONS = 3
"""Reads, writes and trims may have values of their own."""


@dataclass(slots=True)
class Options:
    """The options of a job that are still to be translated."""

    job: Job
    taken: set[str] = field(default_factory=set)

    def option(self, name: str) -> Option | None:
        """Take an option, None if the job has none of that name."""
        self.taken.add(name)
        return self.job.options.get(name)

    def word(self, name: str, default: str) -> str:
        """Take a word."""
        option = self.option(name)
        return default if option is None else option.value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Take a truth value."""
        option = self.option(name)
        truth = default if option is None else truth_of(option.value)
        if truth is None:
            raise self.refused(name, "is neither 0 nor 1", cure="write 0 or 1")
        return truth

    def size(self, name: str) -> int | None:
        """Take a size (B), or a number with a suffix."""
        option = self.option(name)
        if option is None:
            return None
        size = size_of(option.value, self.kb_base)
        if size is None:
            raise self.refused(
                name, "must be a whole number of bytes", cure="write it as 4096, 4k or 16m"
            )
        return size

    def number(self, name: str, default: int) -> int:
        """Take a count."""
        sizing = self.size(name)
        return default if sizing is None else sizing

    def seconds(self, name: str) -> float | None:
        """Take a time (s)."""
        option = self.option(name)
        if option is None:
            return None
        time_s = seconds_of(option.value)
        if time_s is None:
            raise self.refused(name, "is not a time", cure="write it as 30, 30s, 2m or 500ms")
        return time_s

    def by_direction(self, name: str) -> tuple[int | None, int | None, int | None]:
        """Take an option that may differ for reads, writes and trims; one value holds for all."""
        option = self.option(name)
        if option is None:
            return (None, None, None)
        parts = option.value.split(",")
        sizes = [size_of(part, self.kb_base) if part else None for part in parts]
        is_wrong = any(size is None and part for size, part in zip(sizes, parts, strict=True))
        if is_wrong or len(parts) > _DIRECTIONS:
            raise self.refused(name, "must be a list of numbers", cure="write one, or reads,writes")
        # Writes without a value are as reads, trims as writes.
        values = [*sizes, *[sizes[-1]] * (_DIRECTIONS - len(sizes))]
        return (values[0], values[1], values[2])

    @property
    def kb_base(self) -> int:
        """Bytes of `1k`."""
        option = self.option("kb_base")
        if option is None:
            return 1024
        if option.value not in {"1000", "1024"}:
            raise self.refused("kb_base", "is neither 1000 nor 1024", cure="write one of them")
        return int(option.value)

    def refused(self, name: str, why: str, *, cure: str) -> StudyError:
        """Return the error about an option, at the line of the job if it has none."""
        return self.job.refused(self.job.options.get(name), why, cure=cure)

    def rest(self) -> Iterator[tuple[Option, str]]:
        """Yield options that were not taken and change nothing, each with the reason.

        Raises
        ------
        StudyError
            Something was not taken that may change a result.
        """
        for name, option in self.job.options.items():
            if name in self.taken - {"kb_base"}:
                continue
            if name in ONLY_IF and option.value not in ONLY_IF[name]:
                raise self.refused(
                    name,
                    "changes results, and Headroom has no counterpart",
                    cure=INSTEAD.get(name, "remove it"),
                )
            if name not in NO_CHANGE and name not in ONLY_IF:
                raise self._unknown(option)
            yield option, NO_CHANGE.get(name, "so it is here")

    def _unknown(self, option: Option) -> StudyError:
        known = sorted({*self.taken, *NO_CHANGE, *ONLY_IF})
        cure = INSTEAD.get(option.name) or (
            f"remove it, if the results are valid without it; {suggestion(option.name, known)}"
        )
        return self.refused(option.name, "is not understood", cure=cure)
