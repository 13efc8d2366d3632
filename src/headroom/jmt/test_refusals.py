"""Unsupported, broken and hostile files end in a message with its line."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.errors import StudyError
from headroom.jmt import read_jsimg, xml_tree
from headroom.jmt.read import model_of
from headroom.simulation import SimulationError
from tests.support import jmt_files as jmt

ONE = jmt.exponential(1)
LAWS = {"jobs": ONE}
GOOD = jmt.archive(
    jmt.closed("jobs", 3, "cpu"), jmt.queue("cpu", LAWS), ways="cpu > cpu"
)  # fmt: skip


def refusal(text: str | bytes, folder: Path) -> str:
    """Return the message for a file, after checking that it says where and what to do."""
    path = folder / "model.jsimg"
    path.write_bytes(text.encode("latin-1") if isinstance(text, str) else text)
    with pytest.raises(SimulationError) as caught:
        read_jsimg(path)
    assert re.search(r"model\.jsimg:\d+: ", caught.value.message), caught.value
    assert caught.value.cure
    return caught.value.message


def closed(*parts: str, ways: str = "cpu > cpu", after: str = "") -> str:
    return jmt.archive(jmt.closed("jobs", 3, "cpu"), *parts, ways=ways, after=after)


def opened(*parts: str, ways: str, after: str = "") -> str:
    return jmt.archive(
        jmt.opened("jobs"), jmt.source("Source", LAWS), *parts, jmt.sink(), ways=ways, after=after
    )


def cpu(**more: object) -> str:
    return closed(jmt.queue("cpu", LAWS, **more))  # type: ignore[arg-type]


def strategy(path: str) -> str:
    return closed(jmt.queue("cpu", {"jobs": jmt.sub(f"{jmt.NET}.ServiceStrategies.{path}")}))


def region(inside: str) -> str:
    after = (
        f'<blockingRegion name="R"><regionNode nodeName="a"/><regionNode nodeName="b"/>{inside}'
        "</blockingRegion>"
    )
    return opened(
        jmt.queue("a", LAWS), jmt.queue("b", LAWS), ways="Source > a > b > Sink", after=after
    )


ROOM = '<globalConstraint maxJobs="3"/>'
WAIT = '<dropRules jobClass="jobs" dropThisClass="false"/>'

WITHOUT_COUNTERPART: dict[str, tuple[str, str]] = {
    "a petri net": (
        closed(jmt.node("cpu", jmt.section("Storage"), jmt.section("ServiceTunnel"),
                        jmt.section("Linkage"))),
        "made of Storage",
    ),
    "shortest job first": (cpu(put="SJFStrategy"), "serves by SJFStrategy"),
    "LCFS with priorities": (cpu(put="HeadStrategyPriority"), "HeadStrategyPriority"),
    "retrial": (opened(jmt.queue("cpu", LAWS, size=2, rule="retrial"),
                       ways="Source > cpu > Sink"), "drop rule 'retrial'"),
    "dropped closed jobs": (cpu(size=2), "never come back"),
    "less room than servers": (
        opened(jmt.queue("cpu", LAWS, size=2, servers=3), ways="Source > cpu > Sink"),
        "room for 2 job(s) and 3 servers",
    ),
    "waiting outside beside LCFS": (
        cpu(size=2, rule="waiting queue", put="HeadStrategy"), "by lcfs"),
    "several servers a job": (
        cpu(extra=jmt.by_class("classParallelism", "java.lang.Integer",
                               {"jobs": jmt.sub("java.lang.Integer", value=2)})),
        "takes 2 servers",
    ),
    "set-up times": (cpu(extra=jmt.parameter("setUpTime", 1)), "setUpTime of node 'cpu'"),
    "types of servers": (
        cpu(extra=jmt.by_class("serverNames", "java.lang.String", {}).replace(
            "</parameter>", jmt.sub("x", value="a") + jmt.sub("x", value="b") + "</parameter>")),
        "several types of servers",
    ),
    "generalised sharing": (closed(jmt.shared("cpu", LAWS, "GPSStrategy")), "GPSStrategy"),
    "load dependence": (strategy("LoadDependentStrategy"), "is a LoadDependentStrategy"),
    "a disabled service": (strategy("DisabledServiceTimeStrategy"), "is disabled"),
    "a service without a law": (strategy("ServiceTimeStrategy"), "is not given"),
    "bursts of service": (
        closed(jmt.queue("cpu", {"jobs": jmt.law("MMPP2Distr", "MMPP2Par", lambda0=1, lambda1=2,
                                                 sigma0=1, sigma1=1)})),
        "only arrivals can",
    ),
    "an unknown law": (closed(jmt.queue("cpu", {"jobs": jmt.law("StudentT", nu=3)})), "StudentT"),
    "routing by response time": (
        cpu(jobs=jmt.strategy("ShortestResponseTimeRoutingStrategy")),
        "by ShortestResponseTimeRoutingStrategy",
    ),
    "equally fast services": (
        opened(jmt.passing("R", ["jobs"], jobs=jmt.strategy("FastestServiceRoutingStrategy")),
               jmt.queue("a", LAWS), jmt.queue("b", LAWS),
               ways="Source > R > a > Sink, R > b > Sink"),
        "equally fast services",
    ),
    "disabled routing": (cpu(jobs=jmt.strategy("DisabledRoutingStrategy")), "cannot leave it"),
    "queues of unequal servers": (
        opened(jmt.passing("R", ["jobs"], jobs=jmt.strategy("ShortestQueueLengthRoutingStrategy")),
               jmt.queue("a", LAWS), jmt.queue("b", LAWS, servers=2),
               ways="Source > R > a > Sink, R > b > Sink"),
        "different numbers of servers",
    ),
    "power of three": (
        opened(jmt.passing("R", ["jobs"], jobs=jmt.strategy(
                   "PowerOfKRoutingStrategy", jmt.sub("java.lang.Integer", name="k", value=3))),
               *(jmt.queue(one, LAWS) for one in "abcd"),
               ways="Source > R > a > Sink, R > b > Sink, R > c > Sink, R > d > Sink"),
        "looks at 3 of 4",
    ),
    "a fork that holds up": (
        opened(jmt.fork("F", ["jobs"], block=0), jmt.queue("a", LAWS), jmt.join("J"),
               ways="Source > F > a > J > Sink"),
        "holds up jobs",
    ),
    "a fork without a join": (
        opened(jmt.fork("F", ["jobs"]), jmt.queue("a", LAWS), ways="Source > F > a > Sink"),
        "without meeting a join",
    ),
    "a join without a fork": (
        opened(jmt.queue("a", LAWS), jmt.join("J"), ways="Source > a > J > Sink"),
        "without a fork",
    ),
    "a region that drops": (region(ROOM), "drops jobs and is more than one"),
    "a region of memory": (
        region(ROOM + '<globalMemoryConstraint maxMemory="9"/>' + WAIT), "limits memory"),
    "weights in a region": (
        region(ROOM + WAIT + '<classWeight jobClass="jobs" weight="2"/>'), "weighs 2"),
    "groups in a region": (
        region(ROOM + WAIT + '<groupConstraint jobGroup="g" maxJobsPerGroup="1"/>'),
        "<groupConstraint> of region 'R'",
    ),
    "a region around the start": (
        closed(jmt.queue("cpu", LAWS), after='<blockingRegion name="R">'
               f'<regionNode nodeName="cpu"/>{ROOM}{WAIT}</blockingRegion>'),
        "the reference station of class 'jobs'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WITHOUT_COUNTERPART)
def test_what_has_no_counterpart_is_refused_with_its_line(name: str, tmp_path: Path) -> None:
    text, expected = WITHOUT_COUNTERPART[name]
    assert expected in refusal(text, tmp_path)


BROKEN: dict[str, tuple[str | bytes, str]] = {
    "a letter for a number": (GOOD.replace('customers="3"', 'customers="three"'), "'three'"),
    "a rate of letters": (GOOD.replace("<value>1</value>", "<value>fast</value>"), "'fast'"),
    "an infinite rate": (closed(jmt.queue("cpu", {"jobs": jmt.exponential(1e999)})), "'inf'"),
    "a rate of 0": (closed(jmt.queue("cpu", {"jobs": jmt.exponential(0)})), "lambda"),
    "a missing parameter": (
        closed(jmt.queue("cpu", {"jobs": jmt.law("Exponential", rate=1)})), "no parameter lambda"),
    "half a server": (GOOD.replace('name="maxJobs"><value>1', 'name="maxJobs"><value>1.5'),
                      "must be a whole number"),
    "no servers": (GOOD.replace('name="maxJobs"><value>1', 'name="maxJobs"><value>0'), "servers"),
    "an unknown class": (GOOD.replace("<refClass>jobs", "<refClass>job"), "the class 'job'"),
    "an unknown kind of class": (GOOD.replace('type="closed"', 'type="ajar"'), "'ajar'"),
    "an unknown reference": (GOOD.replace('referenceSource="cpu"', 'referenceSource="gpu"'),
                             "'gpu'"),
    "an unknown node": (GOOD.replace('target="cpu"', 'target="gpu"'), "'gpu'"),
    "no connection": (GOOD.replace('<connection source="cpu" target="cpu"/>', ""), "cannot leave"),
    "two nodes of a name": (closed(jmt.queue("cpu", LAWS), jmt.queue("cpu", LAWS)), "two <node>"),
    "probabilities of 0.9": (cpu(jobs=jmt.probabilities(cpu=0.9)), "sum to 0.9, not 1"),
    "a route to nowhere": (cpu(jobs=jmt.probabilities(gpu=1)), "not connected"),
    "no classes": (jmt.archive(jmt.queue("cpu", LAWS), ways="cpu > cpu"), "class"),
    "no jobs": (GOOD.replace('customers="3"', 'customers="0"'), "no class has jobs"),
    "a negative population": (GOOD.replace('customers="3"', 'customers="-3"'), "-3"),
    "an unknown element": (GOOD.replace("</sim>", "<wormhole/></sim>"), "<wormhole>"),
    "another document": ("<html><body/></html>", "<html>"),
    "no document": ("", "not well-formed XML"),
    "a truncated file": (GOOD[: len(GOOD) // 2], "not well-formed XML"),
    "binary": (bytes(range(256)) * 8, "not well-formed XML"),
    "an unknown encoding": (GOOD.replace("ISO-8859-1", "KLINGON"), "KLINGON"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_with_its_line(name: str, tmp_path: Path) -> None:
    text, expected = BROKEN[name]
    assert expected in refusal(text, tmp_path)


def test_entities_are_never_expanded(tmp_path: Path) -> None:
    rungs = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    bomb = f'<!DOCTYPE archive [<!ENTITY e0 "ha">{rungs}]><archive>&e9;</archive>'
    assert "document type" in refusal(bomb, tmp_path)


def test_files_outside_are_never_opened(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    text = f'<!DOCTYPE a [<!ENTITY s SYSTEM "{tmp_path}/secret">]><archive>&s;</archive>'
    assert "document type" in refusal(text, tmp_path)


def test_deep_files_are_refused(tmp_path: Path) -> None:
    assert "nested deeper" in refusal("<a>" * 100_000, tmp_path)


def test_large_files_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.jsimg"
    with path.open("wb") as file:
        file.truncate(xml_tree.LARGEST_BYTES + 1)
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("it was read"))
    with pytest.raises(StudyError, match="at most 33,554,432"):
        read_jsimg(path)


@pytest.mark.parametrize(("name", "what"), [("missing.jsimg", "no such file"), (".", "a folder")])
def test_what_is_no_file_is_refused(name: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=what):
        read_jsimg(tmp_path / name)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_file_is_read_or_refused_and_never_breaks_the_reader(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([one for one, _ in WITHOUT_COUNTERPART.values()]))
    start = data.draw(st.integers(0, len(text) - 1))
    length = data.draw(st.integers(0, 40))
    put = data.draw(st.sampled_from(["", "<value>", "-1", "nan", '"', "jobs", "1e999", "</node>"]))
    damaged = text[:start] + put + text[start + length :]
    refused = ["a message", "a cure"]
    try:
        model_of(xml_tree.parse(damaged.encode("latin-1"), "model.jsimg"))
    except SimulationError as error:
        refused = [error.message, error.cure]
    assert all(refused)
