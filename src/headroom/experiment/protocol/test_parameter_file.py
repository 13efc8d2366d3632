"""Units in parameter files: every spelling is converted to the unit of the example, or refused."""

from pathlib import Path
from typing import Annotated

import pytest

from headroom.errors import StudyError
from headroom.experiment.protocol.model_parameters import parameter, parameters_of
from headroom.experiment.protocol.parameter_file import read_parameters
from headroom.experiment.protocol.system import Parameter
from headroom.units import UNITS, conversion

BASES = {word: base for base, words in UNITS.items() for word in words}
SPELLINGS = list(BASES)


def written(path: Path, text: str) -> Path:
    path.write_text(f"[numbers]\n{text}\n", encoding="utf-8")
    return path


def read(folder: Path, unit: str, entry: str) -> Parameter:
    """Return a number of a file, which the example has in `unit`."""
    example = f'number = {{ value = 2.0, unit = "{unit}", source = "assumed" }}'
    copied = written(folder / f"example-{SPELLINGS.index(unit)}.toml", example)
    path = written(folder / "machine.toml", f"number = {{ value = 3.5, {entry} }}")
    (found,) = read_parameters(path, {"number": float}, copy_of=copied, own=folder)
    return found


@pytest.mark.parametrize("unit", ["s", "ms", "MHz", "1/min", "MB/s", "KiB", "bit/s", "1", "%", "W"])
def test_every_spelling_is_converted_or_refused(tmp_path: Path, unit: str) -> None:
    for word, base in BASES.items():
        entry = f'unit = "{word}", low = 2.0, high = 8.0, source = "assumed"'
        if base != BASES[unit]:
            with pytest.raises(StudyError, match="has the unit") as refused:
                read(tmp_path, unit, entry)
            assert f'"{unit}"' in refused.value.cure
            continue
        found, factor = read(tmp_path, unit, entry), conversion(word, unit)
        assert found.unit == unit
        assert [found.default, found.low, found.high] == pytest.approx(
            [3.5 * factor, 2.0 * factor, 8.0 * factor]
        )


@pytest.mark.parametrize("word", ["sm", "Ghz", "GB", "hours", ""])
def test_an_unknown_unit_is_refused(tmp_path: Path, word: str) -> None:
    with pytest.raises(StudyError, match="has the unit"):
        read(tmp_path, "MHz", f'unit = "{word}", source = "assumed"')


def test_a_file_that_is_like_another_has_its_unit_unless_it_says_another(tmp_path: Path) -> None:
    read(tmp_path, "MHz", 'unit = "GHz", low = 1, high = 9, source = "assumed"')
    (tmp_path / "machine.toml").rename(tmp_path / "base.toml")
    for stated, value in (("", 4.0), ('unit = "MHz",', 4000.0), ('unit = "1/us",', 4000)):
        entry = f'number = {{ value = {value}, {stated} source = "paper" }}'
        mine = written(tmp_path / "mine.toml", entry)
        mine.write_text('like = "base"\n' + mine.read_text("utf-8"), encoding="utf-8")
        example = tmp_path / f"example-{SPELLINGS.index('MHz')}.toml"
        (found,) = read_parameters(mine, {"number": float}, copy_of=example, own=tmp_path)
        assert (found.default, found.unit, found.low, found.high) == (4000.0, "MHz", 1000.0, 9000.0)


@pytest.mark.parametrize("word", ["sm", "fortnight", "Ms"])
def test_a_declaration_with_an_unknown_unit_is_refused_with_its_place(word: str) -> None:
    def build(*, think: Annotated[float, parameter(unit=word)] = 1.0) -> float:
        return think

    with pytest.raises(StudyError, match=rf"test_parameter_file.*'think'.*`{word}` is not known"):
        parameters_of(build)
