"""A format: what a reader declares under the entry point group `headroom.readers`.

`headroom audit` and `headroom import` find the formats of this package and of others alike.
"""

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
    """

    kind: Literal["json", "text", "lines"]
    expected: str
    fits: Callable[[Any], bool]
    read: Callable[[Any, str], Sequence[Result]]
    is_general: bool = False
