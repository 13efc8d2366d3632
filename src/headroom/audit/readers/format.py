"""A format: what a reader declares under the entry point group `headroom.readers`.

`headroom audit` and `headroom import` find the formats of this package and of others alike.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headroom.audit.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """Files of one tool, told by their content.

    Parameters
    ----------
    kind
        What `fits` is asked about: a JSON document, the whole text, or its first lines that are
        not empty.
    expected
        That content as a phrase, for messages.
    fits
        Returns whether a content is of this format.
    read
        Returns the results in a content and the name of its file; for `lines`, in the whole text.
    is_general
        True if `fits` holds for files of other formats too: these are then asked first.
    start
        Of a `text`: the line with which each result begins, if a text may hold several, or other
        text around them. `fits` is then asked about each.
    header
        What may stand above that line and is of the same result: its command, its progress.
    """

    kind: Literal["json", "text", "lines"]
    expected: str
    fits: Callable[[Any], bool]
    read: Callable[[Any, str], Sequence[Result]]
    is_general: bool = False
    start: re.Pattern[str] | None = None
    header: re.Pattern[str] | None = None
