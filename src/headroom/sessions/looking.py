"""Plan a study for who looks at it: from its files as texts, and from what its runs have left.

Invariant: nothing of the folder is run; what needs its code is taken from the journal, which has
what the code answered when it ran.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from headroom.experiment.journal.journal import Journal
from headroom.experiment.protocol.kept_code import Records, answering
from headroom.experiment.study.design import outlined
from headroom.experiment.study.file.study_file import LoadedStudy, load_study
from headroom.experiment.study.paths import journal_path
from headroom.experiment.study.plan import Plan
from headroom.sessions.study_session import planned


@contextmanager
def looked_at(
    study: Path,
    say: Callable[[str], None],
    *,
    quick: bool,
    seed: int | None = None,
    settings: Sequence[str] | None = None,
) -> Iterator[Plan]:
    """Yield the plan of a study, none of whose code runs until the block ends.

    Parameters
    ----------
    study, quick, seed, settings
        As for `open_plan`.
    say
        Called with a sentence for each file of code that has changed since it was run.

    Raises
    ------
    CodeNotRunError
        The plan needs something of the code that no run has asked for.
    """
    loaded = load_study(study, settings or ())
    with answering(_records(loaded, quick=quick)) as changed:
        plan = planned(loaded, quick=quick, seed=seed)
        for file in changed:
            say(f"{file} has changed since it was run; what is shown is of that run")
        yield plan


@contextmanager
def outline_of(
    study: Path, *, quick: bool, seed: int | None = None, settings: Sequence[str] | None = None
) -> Iterator[Plan]:
    """Yield the points of a study by its text alone: not checked, and without models."""
    with answering({}):
        yield outlined(load_study(study, settings or ()), quick=quick, seed=seed)


def _records(loaded: LoadedStudy, *, quick: bool) -> Records:
    path = journal_path(loaded.folder, quick)
    has_code = any(experiment.system.get("file") for experiment in loaded.study.experiments)
    if not has_code or not path.exists():
        return {}
    with Journal.open(path, create=False) as journal:
        return journal.code()
