"""The templates of the pages: Jinja with escaping, and the texts that stand in them.

Invariant: every template escapes what it is given; a name that it does not know is an error.
"""

from functools import cache
from importlib.resources import files

import jinja2

_HERE = files("headroom.report")


@cache
def template_text(name: str) -> str:
    """Return a script or a style of the templates, without indentation: every page carries it."""
    text = (_HERE / "templates" / name).read_text(encoding="utf-8").strip()
    return "\n".join(line.lstrip() for line in text.splitlines())


@cache
def environment() -> jinja2.Environment:
    """Return where the templates are found."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("headroom.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
