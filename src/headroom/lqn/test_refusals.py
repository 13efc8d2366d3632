"""What is not read is refused with its line and a hint, never ignored."""

import re
from pathlib import Path

import pytest

from headroom.lqn import read_lqn
from headroom.lqn.test_read import TEXT, XML
from headroom.simulation import SimulationError

# What is replaced -> by what, and the error: its line and a part of its text.
TEXTS = {
    "a quoted word that never ends": ('G ""', 'G "', 3, "begins no word"),
    "a variable without value": ("m $users", "m $jobs", 10, "variable \\$jobs has no value"),
    "an expression": ("$users = 10", "$users = [1, 2]", 2, "is '\\['"),
    "a section of results": ("A web", "R 1 x -1\nA web", 24, "section 'R'"),
    "groups": ("T 3", "U 1 g a 0.5 cpu -1\nT 3", 9, "section 'U'"),
    "fair sharing": ("p cpu s 0.001", "p cpu c 0.5", 6, "schedules by 'c'"),
    "replicas": ("p disk f", "p disk f r 4", 7, "4 replicas"),
    "a fraction of copies": ("cpu m 4", "cpu m 1.5", 11, "number of copies is '1.5'"),
    "a semaphore": ("t db n get", "t db S get", 12, "task 'db' schedules by 'S'"),
    "a limited queue": ("get -1 disk", "get -1 q 5 disk", 12, "limited queue"),
    "a processor that is not there": ("get -1 disk", "get -1 tape", 12, "processor 'tape'"),
    "a thinking server": ("page note -1 cpu m 4", "page note -1 cpu m 4 z 1", 11, "thinks"),
    "a second entry of a reference task": ("r browse -1", "r browse b -1", 10, "2 entries"),
    "an entry that does nothing": ("get -1 disk", "get put -1 disk", 12, "'put' does nothing"),
    "an unknown entry": ("s note 0.02", "s nota 0.02", 20, "no task has the entry 'nota'"),
    "a call of nobody": ("y browse page", "y browse pages", 17, "entry 'pages'"),
    "a call of a reference task": ("y miss get 1", "y miss browse 1", 27, "reference task"),
    "a semaphore entry": ("s get 0.1", "P get s get 0.1", 22, "begins with 'P'"),
    "a negative time": ("s get 0.1", "s get -0.1", 22, "is '-0.1'"),
    "half a call of a deterministic phase": ("y miss get 1", "y miss get 0.5", 27, "0.5 times"),
    "a phase type that is none": ("f miss 1", "f miss 2", 27, "phase type 2"),
    "forwarding too much": (
        "s get 0.1", "F get note 0.7 -1 F get page 0.7 -1 s get 0.1", 12, "add up to 1.4"),
    "probabilities of less than one": ("(0.7)hit", "(0.6)hit", 30, "add up to 0.9"),
    "an activity that is not there": ("+ miss[page]", "+ mess[page]", 31, "activity 'mess'"),
    "a reply to another task": ("hit[page]", "hit[get]", 11, "replies to 'get'"),
    "no reply": ("hit[page] + miss[page]", "hit + miss", 11, "none of its activities replies"),
    "two ways on": ("-> log", "-> log; hit -> miss", 31, "followed by two things"),
    "a cycle": ("-> log", "-> log; log -> hit", 28, "in a row"),
    "a join without a fork": ("hit[page] + miss", "hit[page] & miss", 31, "without a fork"),
    "a reply inside a fork": ("(0.7)hit + (0.3)miss", "hit & miss", 26, "inside a fork"),
    "a fork with a branch that ends": (
        "(0.7)hit + (0.3)miss;\n  hit[page] + miss[page] -> log",
        "hit & miss & log; hit & miss -> end; end[page] -1 A web s end 0", 30, "do not meet"),
    "signs that are mixed": ("hit[page] + miss", "hit[page] & log + miss", 31, "mixes & and \\+"),
    "nobody who starts": (
        "t users r browse -1 desk z 2", "t users n browse -1 desk", 2, "nothing starts any work"),
    "an end too early": ("-> log\n-1\n", "-> log", 31, "file ends"),
}  # fmt: skip
XMLS = {
    "another root": ("lqn-model", "model", "holds <model>"),
    "fair sharing": ('scheduling="ps"', 'scheduling="cfs"', "schedules by 'cfs'"),
    "a group": ("<task name=\"web\"", "<group/><task name=\"web\"", "<group> has no"),
    "replicas": ('name="disk"', 'name="disk" replication="4"', "replication='4'"),
    "a semaphore": ('<task name="db">', '<task name="db" scheduling="semaphore">', "'semaphore'"),
    "an unknown attribute": ('phase="2"', 'phase="2" colour="red"', "colour='red'"),
    "a fan-out": ('calls-mean="1.5"', 'calls-mean="1.5" fan-out="2"', "fan-out='2'"),
    "a list of calls": ('order="DETERMINISTIC"', 'order="LIST"', "call-order 'LIST'"),
    "no number of calls": ('dest="get" calls-mean="1"', 'dest="get"', "has no calls-mean"),
    "a lock": ('<entry name="get"', '<entry rwlock="r-lock" name="get"', "rwlock='r-lock'"),
    "two phases 1": ('name="get_2" phase="2"', 'name="get_2" phase="1"', "two phases 1"),
    "a start in another task": ('bound-to-entry="page"', 'bound-to-entry="get"', "'get'"),
    "two tasks of a name": ('<task name="db">', '<task name="web">', "two tasks 'web'"),
    "a fork and no join list": ('<pre><activity name="parse"/></pre>', "", "one list before"),
}  # fmt: skip


def refusal(text: str, path: Path) -> str:
    path.write_text(text)
    with pytest.raises(SimulationError) as caught:
        read_lqn(path)
    assert caught.value.cure
    return caught.value.message


@pytest.mark.parametrize(("old", "new", "line", "what"), TEXTS.values(), ids=list(TEXTS))
def test_a_text_is_refused_with_its_line(
    old: str, new: str, line: int, what: str, tmp_path: Path
) -> None:
    assert old in TEXT
    message = refusal(TEXT.replace(old, new), tmp_path / "shop.lqn")
    assert message.startswith(f"{tmp_path / 'shop.lqn'}:{line}: "), message
    assert re.search(what, message), message


@pytest.mark.parametrize(("old", "new", "what"), XMLS.values(), ids=list(XMLS))
def test_an_element_is_refused_with_its_line(old: str, new: str, what: str, tmp_path: Path) -> None:
    line = XML[: XML.index(old)].count("\n") + 1
    message = refusal(XML.replace(old, new), tmp_path / "shop.lqnx")
    assert message.startswith(f"{tmp_path / 'shop.lqnx'}:{line}: "), message
    assert what in message


def test_tasks_that_call_each_other_are_refused(tmp_path: Path) -> None:
    text = TEXT.replace("s get 0.1 0.3 -1", "s get 0.1 0.3 -1 y get note 1 -1 y note get 1 -1")
    assert "shop.lqn:22" in refusal(text, tmp_path / "shop.lqn")


def test_neither_text_nor_xml_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shop.lqn").write_bytes(b"P 1\n\xff\xfe")
    with pytest.raises(SimulationError, match=r"shop\.lqn:2: the file is neither XML nor text"):
        read_lqn(tmp_path / "shop.lqn")
