"""Artefacts on the page: folded texts, and pictures that can run no script."""

from base64 import b64encode
from dataclasses import dataclass

from headroom.analysis.results import ExperimentResult, LeftArtefact
from headroom.report.words import label_point

_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}


@dataclass(frozen=True, slots=True)
class ShownArtefact:
    """One artefact: its title, and either a text or the address of a picture."""

    title: str
    text: str = ""
    src: str = ""


def shown_artefacts(
    experiment: ExperimentResult, bytes_at_most: int
) -> tuple[list[ShownArtefact], int]:
    """Return the artefacts to show, failed replications first, and the number of all others."""
    all_of_them = [
        (left.state == "done", label_point(point, experiment.factors), left)
        for point in experiment.points
        for left in point.artefacts
    ]
    all_of_them.sort(key=lambda entry: entry[0])
    shown: list[ShownArtefact] = []
    bytes_left = bytes_at_most
    for _, label, left in all_of_them:
        if len(left.artefact.content) <= bytes_left:
            bytes_left -= len(left.artefact.content)
            shown.append(_shown(label, left))
    return shown, len(all_of_them) - len(shown)


def _shown(label: str, left: LeftArtefact) -> ShownArtefact:
    artefact = left.artefact
    how = "failed replication" if left.state == "failed" else "replication"
    where = ", ".join(part for part in (label, f"{how} {left.replication}") if part)
    title = f"{artefact.name} ({where})"
    if artefact.kind != "picture":
        return ShownArtefact(title, text=artefact.text())
    mime = next((kind for end, kind in _TYPES.items() if artefact.name.endswith(end)), "image/png")
    # An image that is loaded from an address runs no script of an SVG file.
    return ShownArtefact(title, src=f"data:{mime};base64,{b64encode(artefact.content).decode()}")
