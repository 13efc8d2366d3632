"""Artefacts on the page: escaped, without scripts, failed replications first, limited."""

from msgspec.structs import replace

from headroom.analysis.results import LeftArtefact
from headroom.experiment.protocol.artefact import Artefact, ArtefactKind
from headroom.report.artefacts import shown_artefacts
from headroom.report.page import render_page
from tests.support.example_results import measured_experiment, study


def left(name: str, content: bytes, *, failed: bool = False) -> LeftArtefact:
    kind: ArtefactKind = "picture" if name.endswith(("svg", "png")) else "log"
    return LeftArtefact(
        replication=3,
        state="failed" if failed else "done",
        artefact=Artefact(name=name, kind=kind, content=content),
    )


def test_the_page_shows_them_and_runs_nothing_of_them() -> None:
    experiment = measured_experiment()
    script = b"<svg onload='alert(1)'><script>alert(2)</script></svg>"
    files = [left("a.svg", script), left("db.log", b"<b>ready</b>", failed=True)]
    points = [replace(experiment.points[0], artefacts=files), *experiment.points[1:]]
    shown, more = shown_artefacts(replace(experiment, points=points), 1000)
    assert [one.title.split(" ")[0] for one in shown] == ["db.log", "a.svg"]
    assert "failed replication 3" in shown[0].title
    assert shown[1].src.startswith("data:image/svg+xml;base64,")
    assert more == 0
    page = render_page(study(replace(experiment, points=points)))
    assert "&lt;b&gt;ready&lt;/b&gt;" in page
    assert "alert(2)" not in page


def test_what_is_too_much_for_a_page_is_counted() -> None:
    experiment = measured_experiment()
    files = [left("a.log", b"x" * 499) for _ in range(3)]
    points = [replace(experiment.points[0], artefacts=files)]
    shown, more = shown_artefacts(replace(experiment, points=points), 1000)
    assert (len(shown), more) == (2, 1)
