"""Redact secrets from the output of a failed command before it is stored or shown.

The message of a failure contains the last lines of stderr, the beginning of an output, or
arguments. It goes into the journal, the page and perhaps a repository. The following are redacted:
values under the usual names, passwords in URLs, private keys, values of environment variables with
such names, and whatever the study adds with `redact`.

Invariant: redaction never fails a run, and a secret is replaced as a whole.
"""

import re
from collections.abc import Iterable, Mapping

from headroom.errors import HeadroomError, StudyError
from headroom.systems.command.patience import at_most

HIDDEN = "***"
_SHORTEST_VALUE = 6
"""Shortest value of an environment variable that is hidden: `1` or `true` is in every text."""
_LIMIT_S = 10.0
"""Longest time (s) for one pattern of the study."""
_WORDS = "password|passwd|passphrase|passcode|pwd|token|secret|credential|api_?key"
_NAME = rf"[\w.-]*(?:{_WORDS})[\w-]*|(?:[\w.-]*[_.-])?(?:key|pass|auth|pat)"
_VALUE = r"""\"[^\"\n]*\"|'[^'\n]*'|[^\s,;&"']+"""
_SECRET_NAME = re.compile(rf"(?:{_NAME})", re.IGNORECASE)
_USUAL = (
    re.compile(r"((?:authorization|cookie)[\"']?[ \t]*[:=][ \t]*)[^\n]+", re.IGNORECASE),
    re.compile(rf"((?<![\w.-])(?:{_NAME})[\"']?[ \t]*[=:][ \t]*)(?:{_VALUE})", re.IGNORECASE),
    re.compile(rf"(--(?:{_NAME})[ \t]+)(?:{_VALUE})", re.IGNORECASE),
    re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s/:@]*:)[^\s/@]+(?=@)", re.IGNORECASE),
    re.compile(r"()(?:^[ \t]*[\w+/=]{32,}[ \t]*\n)+(?=[ \t]*-----END)", re.MULTILINE),
    re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?=-----END|\Z)", re.DOTALL),
)


def check_patterns(patterns: Iterable[str]) -> None:
    """Raise `StudyError` for the first pattern of a study that is not a regular expression."""
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise StudyError(
                f"`redact`: the regular expression {pattern!r} is wrong: {error}",
                cure="correct it; in TOML, single quotes keep backslashes: 'id=\\d+'",
            ) from error


def redacted(
    error: HeadroomError, *, environment: Mapping[str, str], patterns: Iterable[str]
) -> HeadroomError:
    """Return an error whose message and hint hold no known secret."""
    secrets = secret_values(environment)

    def clean(text: str) -> str:
        return hide(text, secrets=secrets, patterns=patterns)

    clone = type(error)(clean(error.message), cure=clean(error.cure))
    clone.artefacts = error.artefacts
    return clone


def secret_values(environment: Mapping[str, str]) -> list[str]:
    """Return the values of the variables whose names mark them as secret, longest first.

    Examples
    --------
    >>> secret_values({"PGPASSWORD": "hunter2!", "HOME": "/home/me", "AUTH": "no"})
    ['hunter2!']
    """
    secrets = {
        value
        for name, value in environment.items()
        if _SECRET_NAME.fullmatch(name) and len(value) >= _SHORTEST_VALUE
    }
    return sorted(secrets, key=len, reverse=True)


def hide(text: str, *, secrets: Iterable[str] = (), patterns: Iterable[str] = ()) -> str:
    """Return a text without the secrets, the usual ones and the matches of `patterns`.

    Examples
    --------
    >>> hide("cannot log in: password=hunter2 at postgres://me:hunter2@db/shop")
    'cannot log in: password=*** at postgres://me:***@db/shop'
    """
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    for usual in _USUAL:
        text = usual.sub(rf"\g<1>{HIDDEN}", text)
    for pattern in patterns:
        try:
            with at_most(_LIMIT_S):
                text = re.sub(pattern, HIDDEN, text, flags=re.MULTILINE)
        except TimeoutError:
            return f"{HIDDEN} (the pattern {pattern!r} of `redact` took more than {_LIMIT_S:g} s)"
    return text
