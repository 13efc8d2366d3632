"""The study of a program with far memory: its quick form, which compiles the program with hooks."""

import shutil
import sys

import pytest

from headroom.memory.here import allowed_cpus
from studies.quick_form import ClaimRows, QuickForm, QuickRun

pytestmark = [
    pytest.mark.skipif(
        not sys.platform.startswith("linux") or shutil.which("cc") is None,
        reason="needs Linux and a C compiler; get it, in Debian: sudo apt-get install gcc",
    ),
    pytest.mark.skipif(
        len(allowed_cpus()) < 2, reason="needs two processors, one for each delayed thread"
    ),
]


class TestFarMemory(QuickForm, ClaimRows):
    """The quick form ends with its claims."""

    def test_all_claims_hold(self, quick: QuickRun) -> None:
        """Simulated times, and delays by the clocks of threads: no machine decides them."""
        assert set(quick.verdicts().values()) == {"holds"}
