"""The study of PostgreSQL: its quick form, with a real server."""

from studies.quick_form import ClaimRows, QuickForm


class TestPostgresPgbench(QuickForm, ClaimRows):
    """The quick form ends with all claims, and nothing of the server is left."""
