"""Load results that were saved: a results file, a page, or the folder of a study."""

import base64
import re
import zlib
from pathlib import Path

from headroom.analysis.results import StudyResult
from headroom.analysis.results_file import FORMAT, read_results, result_of
from headroom.analysis.stored_form import StoredStudy
from headroom.api.results import Result
from headroom.errors import StudyError
from headroom.experiment.protocol.kept_code import CodeNotRunError
from headroom.experiment.study.paths import RESULTS_NAME, STUDY_NAME, results_folder
from headroom.input_file import MAX_DATA_BYTES, MalformedError, decode_json, read_text, unpack
from headroom.sessions.looking import looked_at
from headroom.sessions.study_session import analysed, existing_journal, what_counts

_RESULTS = re.compile(
    r'<script type="application/json" id="results"( data-packed="gzip")?>(.*?)</script>', re.DOTALL
)


def load(path: str | Path, *, quick: bool = False) -> Result:
    """Return saved results, without a run.

    Parameters
    ----------
    path
        A `results.json`, a page (`report.html`), or the folder of a study. A folder with a
        `study.toml` is analysed as by `headroom show`; another one needs its `results.json`.
    quick
        Of a folder: the results of the quick variant.

    Raises
    ------
    HeadroomError
        Nothing is there, or it is of another version.

    Examples
    --------
    >>> import tempfile, headroom as hr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load = hr.Experiment("load", "mm1", replications=2, completions=500)
    ...     ran = hr.run(hr.Study("queue", [load], folder=folder))
    ...     again = hr.load(folder)
    >>> again.to_rows() == ran.to_rows()
    True
    """
    place = Path(path)
    if (place / STUDY_NAME).is_file() or place.name == STUDY_NAME:
        return load_study_folder(place, quick=quick)
    if place.is_dir():
        place = results_folder(place, quick) / RESULTS_NAME
    if place.suffix.lower() in {".html", ".htm"}:
        return Result(_of_page(place))
    if not place.exists():
        raise StudyError(
            f"there are no results at {place}",
            cure="name a results.json, a report.html, or the folder of a study that was run",
        )
    return Result(read_results(place), path=place)


def load_study_folder(study: Path, *, quick: bool = False) -> Result:
    """Return the results of a study from its journal, as `headroom show` has them."""
    notes: list[str] = []
    try:
        with (
            looked_at(study, notes.append, quick=quick) as plan,
            existing_journal(plan, notes.append) as journal,
        ):
            result = analysed(plan, journal)
            notes += what_counts(plan, journal)
    except CodeNotRunError:
        folder = study if study.is_dir() else study.parent
        path = results_folder(folder, quick) / RESULTS_NAME
        if not path.is_file():
            raise
        return Result(read_results(path), path=path)
    return Result(result, notes=tuple(notes), plan=plan)


def _of_page(page: Path) -> StudyResult:
    """Return the results in a page, or those beside one that is too large to carry them."""
    found = _RESULTS.search(read_text(page, most_bytes=MAX_DATA_BYTES))
    beside = page.with_name(RESULTS_NAME)
    if found is None and beside.is_file():
        return read_results(beside)
    if found is None:
        raise StudyError(
            f"{page} holds no results of Headroom, and no {RESULTS_NAME} lies beside it",
            cure=f"name a report.html with results, or a {RESULTS_NAME}",
        )
    packed, text = found.groups()
    try:
        content = unpack(base64.b64decode(text)) if packed else text.encode()
        stored = decode_json(content, page, type=StoredStudy)
    except (MalformedError, ValueError, zlib.error) as error:  # a ValueError is of base64
        reason = error.message if isinstance(error, MalformedError) else error
        raise StudyError(
            f"{page} holds damaged results, or those of another version: {reason}",
            cure="write the page again: headroom report STUDY",
        ) from error
    if stored.format != FORMAT:
        raise StudyError(
            f"{page} holds results of format {stored.format}, this version reads {FORMAT}",
            cure="write the page again: headroom report STUDY",
        )
    result = result_of(stored, page)
    if result.done + result.failed > sum(
        point.done + point.failed for one in result.experiments for point in one.points
    ):
        raise StudyError(
            f"{page} is the page of a large study and holds the pictured points alone",
            cure=f"load the {RESULTS_NAME} next to it",
        )
    return result
