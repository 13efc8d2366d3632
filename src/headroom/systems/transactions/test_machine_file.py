"""Machine files: errors name their location; Headroom's own files are complete."""

import dataclasses
from pathlib import Path

import pytest

from headroom.errors import StudyError
from headroom.systems.transactions.machine import FIELDS
from headroom.systems.transactions.machine_file import (
    MACHINES,
    SOURCES,
    machine_path,
    read_machine,
)

OWN = sorted(MACHINES.glob("*.toml"))
DISKS = 'disks = { value = 8, unit = "1", low = 0, high = 64,'


def changed(folder: Path, old: str, new: str) -> Path:
    text = (MACHINES / "spax.toml").read_text()
    assert text.count(old) == 1, old
    path = folder / "machine.toml"
    path.write_text(text.replace(old, new))
    return path


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("packet_bytes =", "packet_byte =", "packet_byte is not known"),
        (
            DISKS,
            f'seek_ms = {{ value = 1.0, unit = "ms", source = "assumed" }}\n{DISKS}',
            "machine.toml: ",
        ),
        (f"{DISKS} source = ", 'disks = { value = 8, unit = "1", from = ', "unknown field `from`"),
        (DISKS, 'disks = { value = 8, unit = "1", lowest = 0,', "unknown field `lowest`"),
        (f'{DISKS} source = "', f'{DISKS} source = "guessed: ', "has the source 'guessed:"),
        (DISKS, 'disks = { value = 8.5, unit = "1",', "its type is int"),
        (DISKS, 'disks = { value = "eight", unit = "1",', "its type is int"),
        (DISKS, 'disks = { value = 65, unit = "1", low = 0, high = 64,', "above its highest value"),
        (
            DISKS,
            "disks = { value = 8, unit = 1, low = 0, high = 64,",
            "Expected `str`, got `int` - at `$.unit`",
        ),
        (DISKS, "disks = { value = 8, low = 0, high = 64,", "missing required field `unit`"),
        (
            DISKS,
            'disks = { value = 8, unit = "1", low = "0", high = 64,',
            "Expected `float | null`",
        ),
        ("[load]", "[load", "machine.toml: "),
        ("[machine]", "loose = 1\n[machine]", "loose is outside of any table"),
    ],
)
def test_a_wrong_machine_file_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, reason: str
) -> None:
    path = changed(tmp_path, old, new)
    with pytest.raises(StudyError) as refused:
        read_machine(path)
    assert reason in refused.value.message
    assert str(path) in refused.value.message
    assert refused.value.cure


def test_a_parameter_that_stands_twice_in_two_topics_is_refused(tmp_path: Path) -> None:
    entry = '[more]\nseek_ms = { value = 1.0, unit = "ms", source = "assumed" }\n\n[load]'
    with pytest.raises(StudyError, match=r"seek_ms is defined twice"):
        read_machine(changed(tmp_path, "[load]", entry))


def test_a_missing_parameter_is_named(tmp_path: Path) -> None:
    path = tmp_path / "machine.toml"
    lines = (MACHINES / "spax.toml").read_text().splitlines()
    path.write_text("\n".join(line for line in lines if not line.startswith(("disks", "pci_mb_s"))))
    with pytest.raises(StudyError, match=r"pci_mb_s, disks missing"):
        read_machine(path)


def test_a_file_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(StudyError, match=r"no machine file 'spaxx'") as refused:
        machine_path("spaxx")
    assert refused.value.cure == "give the path of a .toml file, or one of server, spax"


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_each_number_has_value_unit_range_source_and_words(path: Path) -> None:
    parameters = read_machine(path)
    assert {parameter.name for parameter in parameters} == set(FIELDS)
    for parameter in parameters:
        assert parameter.source.startswith(SOURCES)
        assert parameter.description[:1].isupper()
        is_number = parameter.type in ("int", "float")
        assert (parameter.low is not None and parameter.high is not None) == is_number, (
            parameter.name
        )
        assert bool(parameter.unit) == is_number, parameter.name


def test_exactly_the_fitted_numbers_and_the_disks_of_spax_are_called_calibrated() -> None:
    calibrated = [
        parameter.name
        for parameter in read_machine(MACHINES / "spax.toml")
        if "calibr" in parameter.source
    ]
    assert sorted(calibrated) == [
        "disks", "dma_handling_us", "elevator_factor", "path_length_factor", "port_handling_us"
    ]  # fmt: skip
    assert not [
        parameter
        for parameter in read_machine(MACHINES / "server.toml")
        if "calibr" in parameter.source
    ]


def like(folder: Path, text: str) -> Path:
    path = folder / "machine.toml"
    path.write_text(text)
    return path


def test_a_file_that_is_like_another_has_what_differs(tmp_path: Path) -> None:
    known = {parameter.name: parameter for parameter in read_machine(MACHINES / "server.toml")}
    entry = 'processor_mhz = { value = 3500, source = "data sheet: ours" }'
    path = like(tmp_path, f'like = "server"\n[processor]\n{entry}\n')
    parameters = {parameter.name: parameter for parameter in read_machine(path)}
    assert list(parameters) == list(known)
    assert parameters.pop("processor_mhz") == dataclasses.replace(
        known.pop("processor_mhz"), default=3500.0, source="data sheet: ours"
    )
    assert parameters == known


def test_a_file_can_be_like_one_of_the_users_beside_it(tmp_path: Path) -> None:
    entry = '[load]\nterminals = { value = 3, source = "measured" }\n'
    like(tmp_path, f'like = "server"\n{entry}').rename(tmp_path / "small.toml")
    parameters = {
        parameter.name: parameter
        for parameter in read_machine(like(tmp_path, 'like = "small.toml"\n'))
    }
    assert parameters["terminals"].default == 3


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('like = "serve"', "no parameter file 'serve'"),
        ('like = "machine.toml"', "leads back to this file"),
        ("like = 3", "like = 3 is not text"),
        ('like = "server"\n[load]\nterminals = { value = 0, source = "measured" }', "terminals"),
        ('like = "server"\n[load]\nterminals = { value = 3 }', "source"),
        ('like = "server"\n[load]\nterminal = { value = 3, source = "measured" }', "not known"),
    ],
)
def test_what_is_wrong_in_a_file_that_is_like_another_is_named(
    tmp_path: Path, text: str, why: str
) -> None:
    with pytest.raises(StudyError, match=why):
        read_machine(like(tmp_path, text))
