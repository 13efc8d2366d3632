"""The parts of the reference by name, as `headroom describe` prints them."""

from headroom.errors import StudyError
from headroom.experiment.protocol.registry import system_names
from headroom.experiment.protocol.suggestions import suggestion
from headroom.reference.model_builder import model_builder
from headroom.reference.parameters import LEGEND
from headroom.reference.python_front import python_front
from headroom.reference.study_file import study_file
from headroom.reference.systems import model_section, registered_models, system_section
from headroom.reference.tables import single_blank_lines

PAGES = {
    "study-file": ("the keys of study.toml", study_file),
    "model-builder": ("the functions that build a model", model_builder),
    "python": ("Headroom from Python", python_front),
}
"""Name of a page -> what it is about, and what writes it."""


def topics() -> dict[str, str]:
    """Return the name of each part and what it is."""
    systems, models = system_names(), registered_models()
    return {
        **{name: about for name, (about, _) in PAGES.items()},
        **dict.fromkeys(systems, "system"),
        **dict.fromkeys(models, "model"),
        **dict.fromkeys(models.keys() & {*systems}, "system and model"),
    }


def described(topic: str) -> str:
    """Return a part of the reference as Markdown.

    Raises
    ------
    StudyError
        There is no part of this name.

    Examples
    --------
    >>> print(described("mm1").splitlines()[0])
    ### Registered model `mm1`
    """
    if topic in PAGES:
        return single_blank_lines(PAGES[topic][1]())
    parts = list(system_section(topic)) if topic in system_names() else []
    if topic in registered_models():
        parts.append(model_section(topic))
    if parts:
        return single_blank_lines("\n".join([*parts, LEGEND]))
    raise StudyError(
        f"nothing is described under {topic!r}",
        cure=suggestion(topic, topics()),
    )
