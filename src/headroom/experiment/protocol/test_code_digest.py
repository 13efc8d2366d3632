"""Which changes of Python code change its hash."""

from pathlib import Path

import pytest

from headroom.experiment.protocol.code_digest import code_digest

CODE = '''"""A module."""

LIMIT = 3
"""A limit."""


def double(number):
    """Return twice a number."""
    return 2 * number
'''


@pytest.mark.parametrize(
    ("before", "after", "is_same"),
    [
        ('"""A module."""', '"""A module,\nand more."""', True),
        ('"""A limit."""', "# A limit.", True),
        ("\n\n\ndef", "\ndef", True),
        ("return 2", "# twice\n    return 2", True),
        ("return 2", "return 3", False),
        ("LIMIT = 3", 'LIMIT = "3"', False),
    ],
)
def test_the_hash_is_that_of_what_runs(
    tmp_path: Path, before: str, after: str, *, is_same: bool
) -> None:
    assert before in CODE
    old, new = tmp_path / "old.py", tmp_path / "new.py"
    old.write_text(CODE)
    new.write_text(CODE.replace(before, after))
    assert (code_digest([old]) == code_digest([new])) is is_same
    assert code_digest([old, new]) == code_digest([new, old])
