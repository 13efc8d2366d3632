"""Read a fio job file into the text of a study."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from textwrap import fill

from headroom.experiment.study.file.toml_text import LINE_LENGTH, toml_text
from headroom.input_file import read_text
from headroom.systems.storage.fio.experiment import Table, experiment_of, names_of
from headroom.systems.storage.fio.job_file import Job, jobs_of
from headroom.systems.storage.fio.numbers import truth_of

_HEADER = """\
# From {file}, a job file of fio: one experiment for each job. `headroom run . --dry-run` says what
# would be made and written, and where. Each job is run several times, for an interval.
"""


def read_fio(file: Path, *, name: str, here: Path) -> str:
    r"""Return the text of a study that asks what a job file of fio asks.

    Parameters
    ----------
    file
        The job file.
    name
        Name of the study.
    here
        Folder that relative paths in it start at: the one in which fio would be started.

    Raises
    ------
    StudyError
        Something in it has no counterpart; the message names its line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "reads.fio"
    ...     _ = file.write_text("[reads]\nrw=randread\nsize=1g\nruntime=10\ntime_based\n")
    ...     text = read_fio(file, name="reads", here=Path(folder))
    >>> [line for line in text.splitlines() if line.startswith("fixed")][0][:45]
    'fixed = { pattern = "random", read_share = 1.'
    """
    jobs = jobs_of(file, read_text(file))
    _check_alone(jobs)
    experiments: list[Table] = []
    notes: dict[str, list[str]] = {}
    for job, own in zip(jobs, names_of(jobs), strict=True):
        experiment, said = experiment_of(job, name=own, here=here)
        experiments.append(experiment)
        for note in said:
            notes.setdefault(note, []).append(own)
    study = {
        "schema": 1,
        "name": name,
        "title": f"The jobs of {file.name}, with intervals",
        "seed": 1,
        "experiment": experiments,
    }
    comments = [f"{', '.join(owners)}: {note}" for note, owners in notes.items()]
    return _HEADER.format(file=file.name) + "".join(map(_comment, comments)) + toml_text(study)


def _comment(text: str) -> str:
    return fill(text, LINE_LENGTH, initial_indent="# - ", subsequent_indent="#   ") + "\n"


def _check_alone(jobs: Sequence[Job]) -> None:
    """Refuse jobs that run at the same time: an experiment is one load on one target."""
    for before, job in pairwise(jobs):
        option = job.options.get("stonewall")
        if option is None or not truth_of(option.value):
            raise job.refused(
                None,
                f"runs at the same time as [{before.name}], and an experiment is one load",
                cure="add stonewall to run them one after the other, or put each into its own file",
            )
