"""By point, what a run of a command was seen to depend on, or the floor where none was observed."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from headroom.experiment.protocol.system import Value
from headroom.experiment.study.seeds import digest
from headroom.recording.launching.observer import Report, why_not
from headroom.systems.command.content import Content
from headroom.systems.command.plan import Words
from headroom.systems.command.seen import variables
from headroom.systems.command.seen.floor import libraries_of, packages_of
from headroom.systems.command.seen.manifest import (
    WRITTEN,
    Files,
    counted,
    decoded,
    encoded,
    is_library,
    sentence,
    sentence_of,
)
from headroom.systems.command.setup_table import CommandSetup
from headroom.systems.command.study_tree import MOST_FILES

Config = Mapping[str, Value]


@dataclass(slots=True)
class Sights:
    """What is known of each point; a point of which a run is to be observed has an empty text."""

    setup: CommandSetup
    content: Content
    files: Files
    _texts: dict[str, str] = field(default_factory=dict)
    _written: set[str] = field(default_factory=set)
    """What any run was seen to write: no run of the study depends on it."""

    @classmethod
    def of(cls, setup: CommandSetup, content: Content) -> Self:
        """Return the sights of a command of which nothing is known yet."""
        is_counted: Callable[[str], bool] = lambda inner: inner in content.tree.files  # noqa: E731
        files = Files(content.study, setup.ignore, setup.ignore_env, is_counted)
        return cls(setup, content, files)

    def expect(self, config: Config, text: str) -> None:
        """Take what an earlier run of a point was seen to depend on; empty to observe the next."""
        self._texts[digest(dict(config))] = text

    def of_point(self, config: Config) -> str:
        """Return what is known of a point, empty if nothing is."""
        return self._texts.get(digest(dict(config)), "")

    def is_wanted(self, config: Config) -> bool:
        """Return whether the next run of a point is to be observed."""
        return self._texts.get(digest(dict(config))) == ""

    def why_not(self) -> str:
        """Return why no run is observed; empty if runs are."""
        return why_not() if self.setup.watches_files else "observe = false"

    def sentence(self, config: Config) -> tuple[str, ...]:
        """Return the sentence on a point for the reader, if there is one."""
        text = sentence_of(self.of_point(config))
        return (text,) if text else ()

    def keep(
        self, config: Config, words: Words, reports: Sequence[Report], *,
        scratch: Path, since_ns: int,
    ) -> None:  # fmt: skip
        """Take what was seen of a point."""
        if sum(len(report.paths) for report in reports) > MOST_FILES:
            self.keep_floor(config, words, f"it uses more than {MOST_FILES:,} files")
            return
        found = self.files.hashes(reports, scratch=scratch, since_ns=since_ns)
        unseen = ["services"] if self.setup.services else []
        unseen += ["set-up"] if self.setup.set_up and len(reports) == 1 else []
        self._keep(config, found, sentence(reports, found, unseen))

    def keep_floor(self, config: Config, words: Words, reason: str) -> None:
        """Take what a point depends on at least, with the reason why it was not observed."""
        programs = self.content.paths(words)
        names = {library for path in programs for library in libraries_of(path)}
        names |= set(packages_of(words))
        found = {name: self.files.hash_of(name) for name in names if self.files.counts(name)}
        counts = {"library": sum(map(is_library, found))}
        counts["file on import paths"] = len(found) - counts["library"]
        self._keep(config, found, f"not observed ({reason}): {counted(counts)}")

    def _keep(self, config: Config, found: Mapping[str, str], text: str) -> None:
        environment = variables.hashes_of(os.environ, self.setup.env, self.setup.ignore_env)
        self._written |= written_in(found)
        self._texts[digest(dict(config))] = encoded({**environment, **found}, text)

    def changes(self, texts: Collection[str]) -> dict[str, list[str]]:
        """Return the names of what differs now from each text, without what runs wrote."""
        known = {text: decoded(text) for text in texts}
        for hashes in known.values():
            self._written |= written_in(hashes)
        now = variables.hashes_of(os.environ, self.setup.env, self.setup.ignore_env)
        return {
            text: [n for n in self.files.changes(hashes, now) if n not in self._written]
            for text, hashes in known.items()
        }


def written_in(hashes: Mapping[str, str]) -> set[str]:
    """Return the files that a run was seen to write."""
    return {name for name, value in hashes.items() if value == WRITTEN}
