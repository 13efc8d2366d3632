"""`headroom describe` has every system, model and key, and says what to write instead."""

import json

import pytest
from typer.testing import CliRunner

from headroom.cli.app import app
from headroom.errors import StudyError
from headroom.experiment.protocol.registry import find_system, system_names
from headroom.reference.topics import described, topics


@pytest.mark.parametrize("topic", topics())
def test_each_topic_begins_with_a_heading_and_names_its_keys(topic: str) -> None:
    text = described(topic)
    assert text.startswith("#")
    if topic in system_names():
        keys = find_system(topic).setup_type.__struct_encode_fields__
        assert [key for key in keys if f"- `{key}` (" not in text] == []


def test_the_catalogue_is_described_as_a_system_and_as_a_model() -> None:
    text = described("catalogue")
    assert "## `catalogue` (column: measure)" in text
    assert "### Registered model `catalogue`" in text


def test_the_table_of_a_model_is_whole() -> None:
    """On one page for all, a model referred to another one for the parameters that they share."""
    assert all(f"| `{name}` |" in described("disk_array") for name in ("disks", "read_share"))


def test_the_command_lists_prints_and_writes_json() -> None:
    listed, printed, document = (
        CliRunner().invoke(app, ["describe", *arguments]).stdout
        for arguments in ([], ["mm1"], ["mm1", "--json"])
    )
    assert "study-file" in listed
    assert printed == described("mm1")
    assert json.loads(document)["content"] == {"name": "mm1", "markdown": printed}


def test_an_unknown_name_has_a_hint() -> None:
    with pytest.raises(StudyError, match="nothing is described under 'mmx'") as refused:
        described("mmx")
    assert refused.value.cure.startswith("did you mean 'mmc'? known: ")
