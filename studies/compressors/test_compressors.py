"""The quick form of the compressors and its page, on machines that have all programs."""

import shutil

import pytest

from studies.quick_form import QuickForm

if missing := [name for name in ("gzip", "bzip2", "xz") if shutil.which(name) is None]:
    pytest.skip(f"{', '.join(missing)} not installed", allow_module_level=True)


class TestQuickForm(QuickForm):
    """The quick variant: two levels of three programs."""
