"""Result folders: in the study's folder; the quick variant is one folder deeper."""

from pathlib import Path

STUDY_NAME = "study.toml"
RESULTS_FOLDER = "results"
JOURNAL_NAME = "journal.sqlite"
RESULTS_NAME = "results.json"
PAGE_NAME = "report.html"
KEPT_ANSWERS_NAME = "points.cache"
KEPT_FITS_NAME = "fits.cache"
KEPT_NOTES_NAME = "notes.cache"
KEPT_RESULT_NAME = "result.cache"
KEPT_SCREENS_NAME = "screens.cache"


def results_folder(folder: Path, quick: bool) -> Path:  # noqa: FBT001 - reads as the two variants
    """Return the folder of a study's results.

    Parameters
    ----------
    folder
        Folder of the study.
    quick
        True for the quick variant, whose results never mix with the full ones.

    Examples
    --------
    >>> results_folder(Path("studies/shop"), True).as_posix()
    'studies/shop/results/quick'
    """
    results = folder / RESULTS_FOLDER
    return results / "quick" if quick else results


def journal_path(folder: Path, quick: bool) -> Path:  # noqa: FBT001 - as above
    """Return the path of a study's journal.

    Examples
    --------
    >>> journal_path(Path("studies/shop"), False).as_posix()
    'studies/shop/results/journal.sqlite'
    """
    return results_folder(folder, quick) / JOURNAL_NAME
