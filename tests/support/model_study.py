"""A small study of a model with a helper module and a file of data, for other machines to run."""

from pathlib import Path

from tests.support.study_text import Head

STUDY = Head("queue", "A queue", "load").then("""\
system = { name = "model", file = "model.py", completions = COMPLETIONS }
factors.users = { from = 1, to = POINTS, step = 1 }
replications.count = REPLICATIONS
""")
MODEL = '''"""A closed queue whose rate is read from a file."""

from pathlib import Path
from typing import Annotated

from pace import mean_of

from headroom.simulation import Model, exponential
from headroom.systems.model import parameter

RATE = Path(__file__).parent / "data" / "rate.txt"


def build(
    *, users: Annotated[int, parameter(unit="1", low=1, high=10_000, source="assumed")] = 1
) -> Model:
    model = Model("queue")
    cpu = model.station("cpu")
    job = model.program("job")
    job.use(cpu, exponential(mean_of(RATE)))
    model.closed_class("jobs", job, population=users, think=exponential(10.0))
    return model
'''
HELPER = """def mean_of(path):
    return 1.0 / float(path.read_text())
"""


def write_model_study(
    folder: Path, *, points: int = 3, replications: int = 2, completions: int = 200
) -> Path:
    """Write the study into a new folder; returns the folder."""
    text = STUDY.replace("COMPLETIONS", str(completions)).replace("POINTS", str(points))
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "rate.txt").write_text("2.0")
    (folder / "study.toml").write_text(text.replace("REPLICATIONS", str(replications)))
    (folder / "model.py").write_text(MODEL)
    (folder / "pace.py").write_text(HELPER)
    return folder
