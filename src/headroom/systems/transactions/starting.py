"""The starter study of a machine, for `headroom init`: a copy, or the differences from one."""

from collections.abc import Mapping
from pathlib import Path

from headroom.experiment.protocol.starters import Starter
from headroom.systems.transactions.machine_file import MACHINES

FILE = "machine.toml"
STUDY = "study.toml"
_FOLDER = Path(__file__).with_name("starter")
_LIKE = """\
# Your machine: like {name!r}, except for the values below. `headroom model show model.py` lists
# every number, with its unit and source; write down those that differ, each with its source.
like = "{name}"

[processor]
# processor_mhz = {{ value = 3500.0, source = "data sheet: the processors of our machine" }}

[load]
# terminals = {{ value = 25, source = "measured: connections at noon" }}
"""

_DIFFERS = {
    "server": {
        'method = "fixed"\nseconds = 3.0': 'method = "automatic"',
        "Four processing nodes do": "Nor do four",
        "at_least = 1.5": "at_most = 1.05",
    }
}
"""What the study says otherwise of a machine: a run of this one lasts a fraction of a second, and
one storage node of NVMe drives is enough for its cores."""


def _variants() -> Mapping[str, Mapping[str, str]]:
    return {path.stem: _files(path.stem) for path in MACHINES.glob("*.toml")}


def _files(name: str) -> Mapping[str, str]:
    study = (_FOLDER / STUDY).read_text(encoding="utf-8")
    for old, new in _DIFFERS.get(name, {}).items():
        if old not in study:
            raise AssertionError(f"{STUDY} has no {old!r} to replace")
        study = study.replace(old, new)
    return {FILE: _LIKE.format(name=name), STUDY: study}


STARTER = Starter(
    folder=_FOLDER,
    also={FILE: MACHINES / "spax.toml"},
    variants=_variants,
)
