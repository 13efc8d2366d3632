"""A study of one command in a folder of its own, with a folder elsewhere on the machine."""

from pathlib import Path
from typing import Any

import msgspec

from headroom.experiment.journal.journal import Journal
from headroom.experiment.runner.runner import Outcome
from headroom.experiment.study.design import make_plan
from headroom.experiment.study.file.study_file import load_study
from headroom.experiment.study.paths import journal_path
from headroom.experiment.study.plan import Plan
from tests.support.study_sessions import run_study

ELSEWHERE = "ELSEWHERE"
"""Stands in tables and files for the folder outside the study."""
_HEAD = 'schema = 1\nname = "s"\ntitle = "t"\nseed = 1\n'


class Bench:
    """A study folder, a folder elsewhere on the machine, and what both hold."""

    def __init__(self, folder: Path) -> None:
        self.study, self.elsewhere = folder / "study", folder / "elsewhere"
        for place in (self.study, self.elsewhere):
            place.mkdir()

    def write(self, name: str, text: str) -> None:
        """Write an executable file of ``study/`` or ``elsewhere/``."""
        place, _, rest = name.partition("/")
        path = getattr(self, place) / rest
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace(ELSEWHERE, str(self.elsewhere)))
        path.chmod(0o755)

    def plan(self, **table: Any) -> Plan:
        """Return the plan of a study that runs a command once."""
        factors = table.pop("factors", {})
        title = table.pop("title", "t")
        count = table.pop("replications", 1)
        lines = [f"{key} = {_toml(value)}" for key, value in ({"name": "command"} | table).items()]
        text = _HEAD.replace('"t"', _toml(title)) + "[[experiment]]\nname = 'e'\n"
        text += f"replications.count = {count}\nfactors = {_toml(factors)}\n[experiment.system]\n"
        (self.study / "study.toml").write_text(text + "\n".join(lines))
        return make_plan(load_study(self.study), quick=False)

    def run(self, **table: Any) -> Outcome:
        """Run that study."""
        return run_study(self.plan(**table))

    def filled(self, table: dict[str, Any]) -> dict[str, Any]:
        """Return a table with the folder elsewhere in its place."""
        text = msgspec.json.encode(table).replace(ELSEWHERE.encode(), bytes(self.elsewhere))
        filled: dict[str, Any] = msgspec.json.decode(text)
        return filled

    def row_count(self) -> int:
        """Return how many rows its journal has."""
        with Journal.open(journal_path(self.study, quick=False), create=False) as journal:
            return journal.row_count()


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return msgspec.json.encode(value).decode()
