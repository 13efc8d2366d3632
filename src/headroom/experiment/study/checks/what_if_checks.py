"""Check that the changes requested by a study are possible, before anything runs."""

from collections.abc import Sequence

from headroom.errors import StudyError
from headroom.experiment.protocol.changes import changes_in
from headroom.experiment.protocol.system import Column, System
from headroom.experiment.study.changed_parameters import check_changes
from headroom.experiment.study.file.study_file import LoadedStudy
from headroom.experiment.study.plan import Point
from headroom.experiment.study.variants import Variant


def check_what_if(
    loaded: LoadedStudy, variant: Variant, system: System, points: Sequence[Point]
) -> None:
    """Raise `StudyError` for the first change that the first point cannot have.

    Other points may lack a station, or already have the value: there the change is left out.
    """
    for number, text in enumerate(variant.spec.what_if.also):
        place = (*variant.key_path("what_if"), "also", number)
        if system.column is not Column.MODEL:
            raise loaded.error(
                place, "what-ifs are about simulated systems", cure="remove the key `also`"
            )
        try:
            check_changes(system, points[0].config, changes_in(text.strip()))
        except StudyError as error:
            raise loaded.error(place, error.message, cure=error.cure) from error
