"""Studies as a stranger might send them, whose code leaves a mark when it runs."""

from pathlib import Path

MODEL = """
import pathlib
pathlib.Path({mark!r}).touch()
from headroom.simulation import Model, exponential

def build(rate: float = 50.0) -> Model:
    model = Model("shop", time_unit="s")
    visit = model.program("visit")
    visit.use(model.station("till"), exponential(0.01))
    model.open_class("visits", visit, interarrival=exponential(1 / rate))
    return model
"""
STUDY = """
schema = 1
name = "sent"
title = "{title}"
seed = 1

[[experiment]]
name = "load"
replications = 3
{system}
"""
CODE = {
    "model": 'model = "model.py"\ncompletions = 500\nfactors.rate = [20, 60]\n',
    "quick": 'model = "mm1"\ncompletions = 500\nfixed.utilization = 0.5\n'
    '[experiment.quick.system]\nfile = "model.py"\nmodel = ""\n',
    "command": '[experiment.system]\nname = "command"\nargv = ["touch", "{study}/mark"]\n',
    "program": '[experiment.system]\nname = "command"\nargv = ["python3", "model.py"]\n',
    "set_up": '[experiment.system]\nname = "command"\nargv = ["true"]\n'
    '[[experiment.system.service]]\nname = "db"\nargv = ["touch", "{study}/mark"]\n',
    "hook": '[experiment.system]\nname = "far_memory"\nsources = ["hook.c"]\n',
}
"""What runs code of the folder, by where it stands."""
DATA = {
    "registered": 'model = "mm1"\ncompletions = 500\nfixed.utilization = 0.5\n',
    "jmt": '[experiment.system]\nname = "model"\nfile = "shop.jsimg"\n',
    "memory": '[experiment.system]\nname = "memory_probe"\n',
    "storage": '[experiment.system]\nname = "storage"\n'
    'targets.one = { kind = "file", path = "{study}", bytes = "1 MiB" }\n',
    "imported": '[experiment.system]\nname = "imported"\nfile = "runs.csv"\n',
}
"""What only reads data, or runs what Headroom brings itself."""


def write_study(folder: Path, system: str, *, title: str = "From a stranger") -> Path:
    """Write a study whose code leaves the file `mark` in its folder; returns the folder."""
    folder.mkdir(parents=True)
    (folder / "model.py").write_text(MODEL.format(mark=str(folder / "mark")))
    (folder / "helper.py").write_text("value = 1\n")
    (folder / "study.toml").write_text(STUDY.format(title=title, system=system))
    return folder
