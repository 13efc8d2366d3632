"""The studies of a folder with what their last analysis wrote.

Invariant: nothing is analysed again; a study that cannot be read is listed with the reason.
"""

from dataclasses import dataclass
from pathlib import Path

from headroom.analysis.results import StudyResult
from headroom.analysis.results_file import read_results
from headroom.errors import HeadroomError
from headroom.experiment.study.file.study_file import load_study
from headroom.experiment.study.paths import PAGE_NAME, RESULTS_NAME, STUDY_NAME, results_folder

_DEPTHS = ("", "*/", "*/*/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A study of a folder.

    Parameters
    ----------
    folder
        Folder of the study.
    title
        Title in its file; its name if the file cannot be read.
    result
        Its newest results, the whole variant or the quick one; None if there are none.
    page
        The report next to them; None if it is missing.
    problem
        Why the study or its results cannot be read; empty if they can.
    """

    folder: Path
    title: str
    result: StudyResult | None = None
    page: Path | None = None
    problem: str = ""


def is_folder_of_studies(path: Path) -> bool:
    """Return whether a folder is no study but holds some, at most two levels deep."""
    return path.is_dir() and not (path / STUDY_NAME).exists() and bool(study_files(path))


def study_files(folder: Path) -> list[Path]:
    """Return the study files in a folder, and in its folders down to two levels, by name."""
    return sorted({path for depth in _DEPTHS for path in folder.glob(f"{depth}{STUDY_NAME}")})


def entries_of(folder: Path) -> list[Entry]:
    """Return the studies of a folder: those with results first, by name."""
    found = [_entry(path.parent) for path in study_files(folder)]
    return sorted(found, key=lambda entry: (entry.result is None, entry.folder))


def _entry(folder: Path) -> Entry:
    try:
        title = load_study(folder).study.heading
    except HeadroomError as error:
        return Entry(folder=folder, title=folder.name, problem=error.message)
    written = [results_folder(folder, is_quick) for is_quick in (False, True)]
    results = [one / RESULTS_NAME for one in written if (one / RESULTS_NAME).exists()]
    if not results:
        return Entry(folder=folder, title=title)
    newest = max(results, key=lambda path: path.stat().st_mtime)
    page = newest.with_name(PAGE_NAME)
    try:
        result = read_results(newest)
    except HeadroomError as error:
        return Entry(folder=folder, title=title, problem=error.message)
    return Entry(folder=folder, title=title, result=result, page=page if page.exists() else None)
