"""The study of TPC-C on databases: its quick form, with real servers."""

import pytest

from studies.quick_form import QuickForm


@pytest.mark.usefixtures("transactions_program")
class TestTpccDatabases(QuickForm):
    """The quick form ends, and nothing of the servers is left."""
