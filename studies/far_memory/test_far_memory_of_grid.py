"""The study of a program with far memory: its quick form, which compiles the program with hooks."""

import shutil
import sys

import pytest

from studies.quick_form import ClaimRows, QuickForm, QuickRun

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("cc") is None,
    reason="needs Linux and a C compiler; get it, in Debian: sudo apt-get install gcc",
)


class TestFarMemory(QuickForm, ClaimRows):
    """The quick form ends with its claims."""

    def test_all_claims_hold(self, quick: QuickRun) -> None:
        """A simulation: no machine decides it."""
        assert set(quick.verdicts().values()) == {"holds"}
