"""Starter studies: what `headroom init` writes, provided by the layers.

A layer registers its starter under the entry point group ``headroom.starters``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headroom.experiment.protocol import plug_ins

GROUP = "headroom.starters"


def _no_variants() -> Mapping[str, Mapping[str, str]]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """A study that runs as it is.

    Parameters
    ----------
    folder
        Its files; subfolders are left out.
    also
        Files from elsewhere: name in the new study to path.
    variants
        Returns, for each name that ``--like`` may say, the files that then differ: name to text.
    """

    folder: Path
    also: Mapping[str, Path] = field(default_factory=dict)
    variants: Callable[[], Mapping[str, Mapping[str, str]]] = _no_variants

    def write(self, to: Path, *, like: str = "") -> None:
        """Write the files into a new folder.

        Parameters
        ----------
        to
            The new study.
        like
            A name of `variants`, or nothing.
        """
        to.mkdir(parents=True, exist_ok=True)
        for file in self.folder.iterdir():
            if file.is_file():
                (to / file.name).write_bytes(file.read_bytes())
        for name, path in self.also.items():
            (to / name).write_bytes(path.read_bytes())
        for name, text in (self.variants()[like] if like else {}).items():
            (to / name).write_text(text, encoding="utf-8")


def starter_names() -> tuple[str, ...]:
    """Return the names of all starters, sorted.

    Examples
    --------
    >>> "model" in starter_names()
    True
    """
    return tuple(sorted(plug_ins.plug_ins(GROUP)))


def find_starter(name: str) -> Starter:
    """Return a starter by its name.

    Raises
    ------
    StudyError
        No layer brings one of this name.
    """
    starter: Starter = plug_ins.find(name, plug_ins.plug_ins(GROUP), kind="starter")
    return starter
