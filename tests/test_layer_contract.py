"""What every registered system owes to a study; what a layer does besides is tested beside it.

A system that is registered needs an entry in `LAYERS`, or the first test fails.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from headroom.cli.app import app
from headroom.errors import HeadroomError, StudyError
from headroom.experiment.protocol.registry import find_system, system_names
from headroom.experiment.protocol.system import (
    ChecksFiles,
    ChecksPoints,
    Parameter,
    System,
    Value,
)
from headroom.memory import native as memory
from headroom.systems.records import native as records
from headroom.systems.records.advisor import system as advisor
from headroom.systems.shared_memory import native as shared_memory
from headroom.units import unit_named
from tests.support.study_text import Head

FOR_MODELS = ("1", "1e3", "m", "s/B", "")
"""Units of parameters that have no multiples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """What the contract needs to know of a system.

    Parameters
    ----------
    setup
        Its table; `file` names the content of a file beside the study.
    point
        Levels of a run that takes a moment; None if nothing runs without more programs.
    refused
        Levels that cannot be, and a part of the message that says so.
    code
        Hashes of code, or functions that return one, whose change is another measurement.
    other_code
        Hashes of code that does not matter.
    idle, counts
        Levels that change nothing at `point`, and levels that do.
    """

    setup: Mapping[str, Any] = field(default_factory=dict)
    file: tuple[str, str] = ("none", "")
    point: Mapping[str, Value] | None = field(default_factory=dict)
    refused: tuple[tuple[Mapping[str, Value], str], ...] = ()
    code: tuple[tuple[ModuleType, str], ...] = ()
    other_code: tuple[tuple[ModuleType, str], ...] = ()
    idle: tuple[Mapping[str, Value], ...] = ()
    counts: tuple[Mapping[str, Value], ...] = ()


_RECORDS_REFUSED: tuple[tuple[Mapping[str, Value], str], ...] = (
    ({"node_bytes": 64, "record_bytes": 128}, "give nodes of 128 B or more"),
    ({"node_bytes": 64, "layout": "sorted"}, "give nodes of 72 B or more"),
    ({"index_bytes": 100}, "whole lines"),
    ({"placement": "malloc", "pages": "transparent"}, "allocator"),
)
_PROGRAM = {"sources": ["a.c"], "machine": "cxl_pool"}
_RUNS = '{"metrics": [{"name": "wall_s", "unit": "s"}], "runs": [{"levels": {}, "values": '
_RUNS += (
    '{"wall_s": 1.0}, "source": "a"}, {"levels": {}, "values": {"wall_s": 2.0}, "source": "a"}]}'
)
LAYERS: Mapping[str, Layer] = {
    "catalogue": Layer(point=None, counts=({"clients": 9},)),
    "coherence": Layer(
        point={"caches": 1},
        code=((shared_memory, "CHECKER_CODE"),),
        counts=({"protocol": "directory"}, {"lines": 2}),
    ),
    "command": Layer(setup={"argv": ["true"]}),
    "far_memory": Layer(setup=_PROGRAM, file=("a.c", ""), point=None,
                        code=((shared_memory, "TRACED_CODE"),),
                        refused=(({"nodes": 8, "shared_bytes": 1 << 60}, "do not fit in"),),
                        counts=({"cache": False}, {"hop_s": 5e-8})),
    "far_memory_emulated": Layer(
        setup=_PROGRAM, file=("a.c", ""), point=None, counts=({"hop_s": 5e-8},),
        refused=(
            ({"protocol": "sci"}, "is not emulated"),
            ({"line_bytes": 128}, "lines of one size"),
            ({"nodes": 32}, "32 processors on 32 nodes"),
            ({"nodes": 1}, "no memory is far"),
            ({"l1_bytes": 50_000}, "whole sets"),
            ({"l2_bytes": 0}, "takes what leaves the second"),
        ),
    ),
    "far_memory_online": Layer(setup=_PROGRAM, file=("a.c", ""), point=None,
                               refused=(({"nodes": 1}, "no memory is far"),),
                               counts=({"hop_s": 5e-8},)),
    "imported": Layer(setup={"file": "runs.json"}, file=("runs.json", _RUNS)),
    "memory_model": Layer(counts=({"chains": 2},)),
    "memory_probe": Layer(
        setup={"rounds": 3, "round_s": 1e-4},
        point={"kind": "bandwidth", "operation": "stream", "bytes": 1 << 16},
        refused=(({"stride_bytes": 12}, "multiple of 8"), ({"cpu": 4000}, "processor 4000")),
        code=((memory, "PROBE_CODE"),),
        idle=({"chains": 8},),
        counts=({"operation": "copy"},),
    ),
    "model": Layer(setup={"model": "mm1", "completions": 1000}, counts=({"utilization": 0.3},)),
    "records": Layer(
        setup={"rounds": 2, "round_s": 1e-5},
        point={"records": 2000},
        refused=(
            *_RECORDS_REFUSED,
            ({"records": 4_000_000_000, "record_bytes": 256}, "MiB left"),
            ({"mode": "protect", "placement": "malloc"}, "whole pages"),
            ({"cpu": 4000}, "processor 4000"),
        ),
        code=((records, "MEASURED_CODE"),),
        other_code=((records, "MODELLED_CODE"),),
        idle=({"scan": 0.8},),
        counts=({"batch": 8}, {"node_bytes": 64}),
    ),
    "records_advisor": Layer(
        setup={"seconds": 1.0, "quick": True},
        point=None,
        refused=(({"mix": "look=1"}, "no operation `look`"),),
        code=((records, "MEASURED_CODE"), (records, "MODELLED_CODE"), (memory, "PROBE_CODE"),
              (advisor, "_code")),
        counts=({"records": 2000},),
    ),
    "records_model": Layer(
        point={"records": 2000}, refused=_RECORDS_REFUSED, code=((records, "MODELLED_CODE"),),
        idle=({"scan": 0.8},), counts=({"batch": 8},),
    ),
    "shared_machine": Layer(
        point={"program": "reads"},
        refused=(({"nodes": 64, "shared_bytes": 1 << 30}, "do not fit in 32-bit addresses"),),
        code=((shared_memory, "MACHINE_CODE"),),
        idle=({"lu_size": 512},),
        counts=({"reads_words": 9}, {"nodes": 1}),
    ),
    "shared_threads": Layer(
        point={"program": "fft", "fft_points": 64},
        refused=(
            ({"program": "lu", "lu_block": 17}, "a multiple of the block's"),
            ({"fft_points": 512}, "a power of four"),
            ({"threads": 3, "oversubscribe": True}, "use a power of two, at most"),
        ),
        code=((shared_memory, "PROGRAMS_CODE"),),
        other_code=((shared_memory, "CHECKER_CODE"),),
        idle=({"lu_size": 512}, {"ocean_steps": 9}, {"oversubscribe": True}),
        counts=({"fft_points": 1024}, {"threads": 2}, {"program": "lu"}),
    ),
    "storage": Layer(
        setup={"targets": {"one": {"kind": "file", "path": "{study}", "bytes": "1 MiB"}}},
        point={"seconds": 0.0, "requests": 100},
        refused=(({"block_bytes": 2 << 20}, "the range of offsets has only"),),
        idle=(),
        counts=({"requests": 101}, {"read_share": 0.5}),
    ),
    "transactions": Layer(
        point=None,
        refused=(
            ({"product": "sqlite", "server_cpus": 0.5, "waits": False}, "not limited"),
            ({"pipelines": True, "waits": False}, "needs single statements"),
            ({"product": "postgres"}, "asks once in 21 s"),
        ),
        counts=({"terminals": 9}, {"isolation": "serializable"}),
    ),
}  # fmt: skip


@pytest.fixture(params=LAYERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def system(name: str, tmp_path: Path) -> System:
    """Return the system, in a folder with the file that it needs."""
    layer, kind = LAYERS[name], find_system(name)
    (tmp_path / layer.file[0]).write_text(layer.file[1], encoding="utf-8")
    return kind.load(msgspec.convert(layer.setup, kind.setup_type), base=tmp_path)


def point_of(name: str, system: System, **more: Value) -> dict[str, Value]:
    defaults = {one.name: one.default for one in system.parameters() if one.default is not None}
    return {**defaults, **(LAYERS[name].point or {}), **more}


def check_declared(parameter: Parameter) -> None:
    """Fail unless a parameter has unit, source, text, and a default that it accepts."""
    assert parameter.source
    assert parameter.description
    is_number = parameter.type in {"int", "float"}
    assert parameter.unit in FOR_MODELS or unit_named(parameter.unit) is not None
    assert parameter.choices or bool(parameter.unit) == is_number
    assert not is_number or parameter.choices or parameter.low is not None, parameter.name
    if parameter.default is not None:
        assert parameter.check(parameter.default) == parameter.default


def test_every_system_is_held_to_the_contract() -> None:
    assert set(LAYERS) == set(system_names())


def test_each_parameter_has_unit_range_source_and_text(system: System) -> None:
    parameters = system.parameters()
    assert len({one.name for one in parameters}) == len(parameters)
    for parameter in parameters:
        check_declared(parameter)


@pytest.mark.parametrize("model", [one.name for one in entry_points(group="headroom.models")])
def test_so_has_each_of_a_registered_model(model: str) -> None:
    kind = find_system("model")
    for parameter in kind.load(kind.setup_type(model=model), base=Path()).parameters():
        check_declared(parameter)
        assert parameter.default is not None
        assert parameter.choices or parameter.type in {"str", "bool"} or parameter.high is not None


def _outside(parameter: Parameter) -> Iterator[Value]:
    if parameter.type not in {"str", "any"} or parameter.choices:
        yield "no such word"
    if parameter.low is not None:
        yield parameter.low - 1
    if parameter.high is not None:
        yield parameter.high + 1


def test_a_level_out_of_its_range_is_refused_with_a_cure(system: System) -> None:
    for parameter in system.parameters():
        for level in _outside(parameter):
            with pytest.raises(StudyError, match=f"parameter {parameter.name!r} is") as refused:
                parameter.check(level)
            assert refused.value.cure


@pytest.mark.parametrize(
    ("name", "levels", "reason"),
    [(name, levels, why) for name, layer in LAYERS.items() for levels, why in layer.refused],
)
def test_a_point_that_cannot_be_is_refused_before_it_runs(
    name: str, system: System, levels: dict[str, Value], reason: str
) -> None:
    check = system.check_files if isinstance(system, ChecksFiles) else None
    if check is None:
        assert isinstance(system, ChecksPoints)
        check = system.check_point
    with pytest.raises(HeadroomError, match=reason) as refused:
        check(point_of(name, system, **levels))
    assert refused.value.cure


def test_metrics_have_units_and_texts(name: str, system: System) -> None:
    metrics = system.metrics(point_of(name, system))
    assert len({one.name for one in metrics}) == len(metrics) > 0
    for metric in metrics:
        assert metric.unit
        assert metric.description or name == "imported"


def test_a_fingerprint_covers_what_a_point_depends_on(name: str, system: System) -> None:
    point = point_of(name, system)
    known = system.fingerprint(point)
    assert system.fingerprint(dict(reversed(point.items()))) == known
    for levels in LAYERS[name].idle:
        assert system.fingerprint({**point, **levels}) == known, levels
    for levels in LAYERS[name].counts:
        assert system.fingerprint({**point, **levels}) != known, levels


@pytest.mark.parametrize("name", [name for name, layer in LAYERS.items() if layer.code])
def test_other_code_is_another_measurement(
    name: str, system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cause: a version was written by hand, so a journal mixed rows of two builds."""
    layer, point = LAYERS[name], point_of(name, system)
    known = system.fingerprint(point)
    for module, code in (*layer.other_code, *layer.code):
        with monkeypatch.context() as changed:
            is_text = isinstance(getattr(module, code), str)
            changed.setattr(module, code, "other" if is_text else lambda: "other")
            is_same = system.fingerprint(point) == known
        assert is_same == ((module, code) in layer.other_code), code


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{name} = {_toml(one)}' for name, one in value.items())} }}"
    return msgspec.json.encode(value).decode()


@pytest.mark.parametrize(
    "name", [name for name, layer in LAYERS.items() if layer.point is not None]
)
def test_a_dry_run_touches_nothing_and_a_study_ends_with_its_claim(
    name: str, system: System, tmp_path: Path
) -> None:
    layer = LAYERS[name]
    point = point_of(name, system)
    metric = next(one.name for one in system.metrics(point) if not one.name.startswith("class."))
    (tmp_path / "study.toml").write_text(
        Head("contract", "Contract", "one").then(f"""\
fixed = {_toml(layer.point)}
replications = {{ count = 2 }}
system = {_toml({"name": name, **layer.setup})}
[[claim]]
name = "reported"
text = "There is a value"
kind = "value"
experiment = "one"
metric = "{metric}"
at_least = 0.0
"""),
        encoding="utf-8",
    )
    before = sorted(tmp_path.rglob("*"))
    dry = CliRunner().invoke(app, ["run", str(tmp_path), "--dry-run"])
    assert dry.exit_code == 0, dry.output
    assert sorted(tmp_path.rglob("*")) == before
    done = CliRunner().invoke(app, ["run", str(tmp_path), "--quiet"])
    assert done.exit_code == 0, done.output
    results = msgspec.json.decode((tmp_path / "results" / "results.json").read_bytes())
    (claim,) = results["claims"]
    assert claim["verdict"] in {"holds", "differs", "undecided"}
    (measured,) = results["experiments"][0]["points"]
    declared = {one.name for one in system.metrics(point)}
    of_the_whole = {one for one in measured["estimates"] if not one.startswith("station.")}
    assert of_the_whole <= declared
    assert of_the_whole
