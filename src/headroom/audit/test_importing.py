"""Results of other tools as a study: its factors, its recorded runs, and what is refused."""

from pathlib import Path

import pytest

from headroom.audit.importing import Imported, Source, given_factors, imported, levels_in
from headroom.audit.readers.recognise import read_results
from headroom.errors import StudyError

SOUND = Path(__file__).parents[3] / "tests" / "data" / "audit" / "sound"


def made(*names: str, factors: tuple[str, ...] = (), **renamed: str) -> Imported:
    given = given_factors(factors, len(names))
    sources = []
    for place, name in enumerate(names):
        kind, results = read_results(SOUND / name)
        levels = levels_in(Path(name), given, place)
        sources.append(Source(path=SOUND / name, kind=kind, results=results, levels=levels))
    return imported(sources, name="mine", renamed=renamed)


def test_the_rows_of_a_table_are_points_of_its_columns_with_what_it_states() -> None:
    found = made("systems.csv", clients="users")
    (experiment,) = found.study["experiment"]
    assert experiment["factors"] == {"system": ["Alpha", "Beta", "Gamma"], "users": [8, 64]}
    assert experiment["replications"] == {"count": 1}
    file = found.files[experiment["system"]["file"]]
    first = file["runs"][0]
    assert first["levels"] == {"system": "Alpha", "users": 8}
    assert first["values"] == pytest.approx(
        {
            "throughput": 381.3,
            "response_s_mean": 0.02097,
            "response_s_p50": 0.02032,
            "response_s_p99": 0.02897,
        }
    )
    assert file["metrics"][0] == {
        "name": "throughput",
        "unit": "1/s",
        "better": "high",
        "description": "Completions per second",
    }


def test_repeated_runs_of_a_command_are_replications_and_commands_are_levels() -> None:
    (experiment,) = (found := made("hyperfine.json")).study["experiment"]
    assert experiment["replications"] == {"count": 30}
    (command,) = experiment["factors"].values()
    assert [one.split()[0] for one in command] == ["sha256sum", "md5sum"]
    assert len(found.files["recorded/hyperfine.json"]["runs"]) == 60


def test_a_factor_that_was_given_has_a_level_for_each_file_and_each_format_is_an_experiment() -> (
    None
):
    found = made("wrk2.txt", "wrk_over_stall.txt", "k6.json", factors=("server=a,b,c",))
    names = [one["name"] for one in found.study["experiment"]]
    assert names == ["k6-http_reqs", "k6-iterations", "wrk"]
    wrk = found.files["recorded/wrk.json"]["runs"]
    assert [run["levels"]["server"] for run in wrk] == ["a", "b"]
    assert "sha256" in wrk[0]["source"]


def test_levels_that_are_not_there_or_do_not_fit_the_files_are_refused() -> None:
    with pytest.raises(StudyError, match="no result has a level 'client'") as caught:
        made("systems.csv", client="users")
    assert "clients" in caught.value.cure
    for text, why in (("server=a,b", "2 levels for 3 files"), ("9=a", "not NAME=VALUE")):
        with pytest.raises(StudyError, match=why):
            given_factors([text], 3)


def test_failed_requests_are_told_apart_from_those_that_were_served(tmp_path: Path) -> None:
    """Its throughput counts them too: a quarter of all requests got another answer than 2xx."""
    text = (SOUND / "wrk2.txt").read_text(encoding="utf-8")
    ((_, (clean,)),) = [read_results(SOUND / "wrk2.txt")]
    path = tmp_path / "wrk2.txt"
    failed = (clean.count or 0) // 4
    line = f"  Non-2xx or 3xx responses: {failed}\nRequests/sec:"
    path.write_text(text.replace("Requests/sec:", line), encoding="utf-8")
    kind, results = read_results(path)
    source = Source(path=path, kind=kind, results=results, levels={})
    (run,) = imported([source], name="mine").files["recorded/wrk.json"]["runs"]
    values = run["values"]
    assert (values["error_count"], values["offered"]) == (failed, values["throughput"])
    assert values["fail_ratio"] == pytest.approx(0.25, rel=0.01)
    assert values["goodput"] == pytest.approx(0.75 * values["throughput"], rel=0.01)
    (untouched,) = made("wrk2.txt").files["recorded/wrk.json"]["runs"]
    assert "fail_ratio" not in untouched["values"]
