"""Studies that ship with the package: found by name, copied to a folder of the user's.

In a checkout `headroom/studies` is a link to the folder of the studies, with their tests and
results; an installed package has neither.
"""

import shutil
from pathlib import Path

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.protocol.suggestions import suggestion

FOLDER = Path(__file__).resolve().parents[3] / "studies"
STUDY_FILE = "study.toml"
_LEFT_OUT = shutil.ignore_patterns(
    "test_*.py", "conftest.py", "make_pictures.py", "results", "pictures", "__pycache__"
)


def shipped_names(folder: Path = FOLDER) -> tuple[str, ...]:
    """Return the names of the shipped studies, sorted.

    Examples
    --------
    >>> {"quickstart", "sqlite_commits"} <= set(shipped_names())
    True
    """
    return tuple(sorted(path.parent.name for path in folder.glob(f"*/{STUDY_FILE}")))


def shipped_study(name: str, folder: Path = FOLDER) -> Path:
    """Return the folder of a shipped study.

    Raises
    ------
    StudyError
        No study of this name ships.
    """
    names = shipped_names(folder)
    if name not in names:
        raise StudyError(
            f"no study `{name}` ships with Headroom",
            cure=f"{suggestion(name, names)}; `headroom init --list` lists all",
        )
    return folder / name


def copy_shipped(name: str, to: Path, folder: Path = FOLDER) -> None:
    """Copy a shipped study into a new or empty folder: no tests, no results, no pictures.

    Raises
    ------
    StudyError
        No study of this name ships.
    EnvironmentUnfitError
        The folder is taken.
    """
    source = shipped_study(name, folder)
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise EnvironmentUnfitError(
            f"{to} exists and is not an empty folder", cure="choose another folder"
        )
    shutil.copytree(source, to, ignore=_LEFT_OUT, dirs_exist_ok=True)
