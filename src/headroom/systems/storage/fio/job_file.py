"""Parse a fio job file: sections, options with their lines, variables and comments.

Invariant: every option of a job, its own and those of `[global]` before it, is kept with its line;
nothing is interpreted.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headroom.errors import StudyError

GLOBAL = "global"
_SECTION = re.compile(r"\[(.+)\]")
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_KEYWORD = re.compile(r"\$(pagesize|mb_memory|ncpus|jobname|jobnum|filenum|clientuid)\b")
ALIASES = {
    "readwrite": "rw", "blocksize": "bs", "blocksize_range": "bsrange", "blockalign": "ba",
    "io_limit": "io_size", "wait_for_previous": "stonewall", "nr_files": "nrfiles",
}  # fmt: skip
"""Second names that fio has for an option."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option: its value as written, empty if it has none, and its line (from 1)."""

    name: str
    value: str
    line: int

    @property
    def text(self) -> str:
        """`name=value`, or the name alone if it has no value."""
        return f"{self.name}={self.value}" if self.value else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job of a file.

    Parameters
    ----------
    file, name, line
        The file, the name of the section and its line.
    options
        By name, those of `[global]` included.
    """

    file: Path
    name: str
    line: int
    options: Mapping[str, Option] = field(default_factory=dict)

    def refused(self, option: Option | None, why: str, *, cure: str) -> StudyError:
        """Return the error about an option of this job, or about the job."""
        line, what = (self.line, f"[{self.name}]") if option is None else (option.line, option.text)
        return StudyError(f"{self.file}:{line}: `{what}`: {why}", cure=cure)


def jobs_of(file: Path, text: str) -> list[Job]:
    r"""Return the jobs of a file, in order.

    Raises
    ------
    StudyError
        A line is neither a section nor an option of one, or there is no job.

    Examples
    --------
    >>> jobs = jobs_of(Path("a.fio"), "[global]\nbs=4k ; small\n[reads]\nrw=randread\n")
    >>> [(job.name, [one.text for one in job.options.values()]) for job in jobs]
    [('reads', ['bs=4k', 'rw=randread'])]
    """
    jobs: list[Job] = []
    shared: dict[str, Option] = {}
    options: dict[str, Option] | None = None
    for number, line in _lines(text):
        section = _SECTION.fullmatch(line)
        if section and section[1] == GLOBAL:
            options = shared
        elif section:
            options = dict(shared)
            jobs.append(Job(file=file, name=section[1], line=number, options=options))
        elif options is None or line.split()[0] == "include":
            raise StudyError(
                f"{file}:{number}: `{line}` is not an option of a section",
                cure="put it below [global] or the name of a job; write out what is included",
            )
        else:
            option = _option(file, number, line)
            options[option.name] = option
    if not jobs:
        raise StudyError(f"{file} has no job", cure="add a section such as [reads]")
    return jobs


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the rest of each line without comments, with its number."""
    for number, line in enumerate(text.splitlines(), start=1):
        bare = re.split("[;#]", line, maxsplit=1)[0].strip()
        if bare:
            yield number, bare


def _option(file: Path, line: int, text: str) -> Option:
    name, _, value = (part.strip() for part in text.partition("="))
    keyword = _KEYWORD.search(value)
    if keyword:
        raise StudyError(
            f"{file}:{line}: `{text}`: {keyword[0]} is filled in by fio as it runs",
            cure="write the value out",
        )
    return Option(name=ALIASES.get(name, name), value=_filled(file, line, value), line=line)


def _filled(file: Path, line: int, value: str) -> str:
    """Return a value with the variables of the environment that it names."""
    for name in _VARIABLE.findall(value):
        if name not in os.environ:
            raise StudyError(
                f"{file}:{line}: the variable {name} is not set",
                cure=f"set it, as in {name}=... headroom init ..., or write the value out",
            )
    return _VARIABLE.sub(lambda match: os.environ[match[1]], value)
