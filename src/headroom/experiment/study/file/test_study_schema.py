"""The published schema accepts and rejects the same files as the loader."""

import tomllib
from typing import Any

import jsonschema
import msgspec
import pytest
from msgspec import inspect

from headroom.experiment.protocol import registry
from headroom.experiment.protocol.system import Value
from headroom.experiment.study import study
from headroom.experiment.study.file.study_schema import bound_numbers, study_schema
from headroom.experiment.study.file.test_study_file import GOOD
from headroom.experiment.study.file.type_errors import find_type_error
from tests.support.fake_systems import fake_entries


@pytest.fixture
def schema(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(registry, "registered", fake_entries)
    return study_schema()


def is_valid(schema: dict[str, Any], text: str) -> bool:
    validator = jsonschema.Draft202012Validator(schema)
    return bool(validator.is_valid(tomllib.loads(text)))


def test_the_schema_is_itself_valid(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)


def test_a_good_study_fits_the_schema(schema: dict[str, Any]) -> None:
    assert is_valid(schema, GOOD)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("count = 3", "counts = 3"),
        ("count = 3", "count = 0"),
        ("step = 2", "stepp = 2"),
        ('kind = "value"', 'kind = "valeu"'),
        ('name = "web"', 'name = "my web"'),
        ("schema = 1", "schema = 2"),
        ("value = 2.5", "valu = 2.5"),
        ('"fake-model"', '"no-such-system"'),
        ('"fake-model"', '"fake-model", observation = 3'),
        ('"fake-model"', '"fake-model", observations = "3"'),
        ('{ name = "fake-model" }', "{ observations = 3 }"),
    ],
)
def test_a_wrong_study_does_not_fit_the_schema(schema: dict[str, Any], old: str, new: str) -> None:
    assert old in GOOD
    assert not is_valid(schema, GOOD.replace(old, new, 1))


NUMBERS = (2**63 - 1, 2**63, -(2**63 - 1), -(2**63), 2**200, 1e300, -1e300, 0.5)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("kind", [int, float, Value, list[Value], study.Range])
def test_schema_and_loader_agree_on_large_numbers(kind: Any, number: float) -> None:
    content = {list[Value]: [number], study.Range: {"from": number, "to": number, "count": 2}}
    value = content.get(kind, number)
    (schema,), definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    whole = {**schema, "$defs": definitions}
    bound_numbers(whole)
    fits_schema = jsonschema.Draft202012Validator(whole).is_valid(value)
    assert fits_schema == (find_type_error(value, kind) is None)


@pytest.mark.parametrize(
    ("old", "new"),
    [("count = 3", f"count = {2**63}"), ('"fake-model"', f'"fake-model", observations = {2**63}')],
)
def test_a_published_schema_refuses_numbers_that_the_loader_refuses(
    schema: dict[str, Any], old: str, new: str
) -> None:
    assert old in GOOD
    assert not is_valid(schema, GOOD.replace(old, new, 1))


def test_the_set_up_of_a_system_is_chosen_by_its_name(schema: dict[str, Any]) -> None:
    assert is_valid(schema, GOOD.replace('"fake-model"', '"fake-measure", observations = 3'))


def test_the_schema_of_the_real_systems_is_valid() -> None:
    whole = study_schema()
    jsonschema.Draft202012Validator.check_schema(whole)
    assert {f"system:{name}" for name in registry.system_names()} <= set(whole["$defs"])


def test_schema_and_types_agree_on_the_good_study() -> None:
    assert find_type_error(tomllib.loads(GOOD), study.Study) is None


def tables_of_a_study() -> list[type[msgspec.Struct]]:
    return [
        kind
        for kind in vars(study).values()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
        if kind is not msgspec.Struct
    ]


@pytest.mark.parametrize("kind", tables_of_a_study(), ids=lambda kind: kind.__name__)
def test_every_key_says_what_it_means(kind: type[msgspec.Struct]) -> None:
    information = inspect.type_info(kind)
    assert isinstance(information, inspect.StructType)
    for field in information.fields:
        described = field.type
        assert isinstance(described, inspect.Metadata), field.name
        assert (described.extra_json_schema or {}).get("description", "").endswith("."), field.name
