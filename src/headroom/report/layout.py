"""The templates of the pages: Jinja with escaping, and their fixed texts.

Invariant: every template escapes what it is given; a name that it does not know is an error.
"""

import re
from functools import cache
from importlib.resources import files

import jinja2
from markupsafe import Markup

from headroom.report.figures.roles import page_rules

_HERE = files("headroom.report")
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; "
    "base-uri 'none'"
)
_COMMENT = re.compile(r"/\*(?:(?!\*/).)*\*/")


@cache
def template_text(name: str) -> str:
    """Return a script or a style of the templates as every page carries it.

    Without indentation, and without the comments that fill a line.
    """
    text = (_HERE / "templates" / name).read_text(encoding="utf-8").strip()
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if not _COMMENT.fullmatch(line))


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


def static_page(template: str, **parts: object) -> str:
    """Return a page that holds no script and loads nothing."""
    style = Markup(template_text("page.css") + page_rules())  # noqa: S704 - files of this package
    return environment().get_template(template).render(policy=_POLICY, style=style, **parts)
