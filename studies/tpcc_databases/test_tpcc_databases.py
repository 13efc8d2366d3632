"""The study of TPC-C on databases: its quick form, with real servers."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from headroom.analysis.results_file import read_results
from headroom.cli.app import app
from scripts.documents import ROOT, blocks
from studies.quick_form import QuickForm

GUIDE = ROOT / "docs" / "guides" / "measure-a-database.md"


@pytest.mark.usefixtures("transactions_program")
class TestTpccDatabases(QuickForm):
    """The quick form ends, and nothing of the servers is left."""


@pytest.mark.deep
@pytest.mark.usefixtures("transactions_program")
def test_the_study_of_the_guide_predicts_what_was_not_measured(tmp_path: Path) -> None:
    """As the guide has it, with short runs of one warehouse."""
    found = blocks(GUIDE.read_text(encoding="utf-8"))
    (text,) = [one.content for one in found if one.settings.get("file") == "orders/study.toml"]
    for old, new in (
        ("seconds = 5, warm_up_s = 1", "seconds = 1, warm_up_s = 0.2"),
        ('product = "postgres", warehouses = 4', 'product = "postgres", warehouses = 1'),
        ("replications = { count = 6 }", "replications = { count = 4 }"),
    ):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    CliRunner().invoke(app, ["run", str(tmp_path), "--trust", "--quiet"])
    result = read_results(tmp_path / "results" / "results.json")
    (many,) = [one for one in result.experiments if one.name == "many"]
    per_s = {
        (point.levels["warehouses"], point.levels["server_cpus"]): point.estimates[
            "throughput"
        ].value
        for point in many.points
    }
    assert len(per_s) == 4
    # One processor instead of all, whose number the fit found.
    assert per_s[4, 1.0] < 0.9 * per_s[4, 0.0]
    assert per_s[8, 0.0] > 0.9 * per_s[4, 0.0]
