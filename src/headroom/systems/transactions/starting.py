"""The starter study of a machine, for `headroom init`: a copy, or the differences from one."""

from collections.abc import Mapping
from pathlib import Path

from headroom.experiment.protocol.starters import Starter
from headroom.systems.transactions.machine_file import MACHINES

FILE = "machine.toml"
_LIKE = """\
# Your machine: like {name!r}, except for the values below. `headroom model show model.py` lists
# every number, with its unit and source; write down those that differ, each with its source.
like = "{name}"

[processor]
# processor_mhz = {{ value = 3500.0, source = "data sheet: the processors of our machine" }}

[load]
# terminals = {{ value = 25, source = "measured: connections at noon" }}
"""


def _variants() -> Mapping[str, Mapping[str, str]]:
    return {path.stem: {FILE: _LIKE.format(name=path.stem)} for path in MACHINES.glob("*.toml")}


STARTER = Starter(
    folder=Path(__file__).with_name("starter"),
    also={FILE: MACHINES / "spax.toml"},
    variants=_variants,
)
