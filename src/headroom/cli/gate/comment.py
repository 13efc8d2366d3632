"""One comment on a pull request: created once, updated from then on.

A hidden marker finds it again. A token that may only read, as pull requests from forks have it, is
no error: the summary of the job holds the same text.
"""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from headroom.cli.gate.job import event_of

_TIME_LIMIT_S = 20.0
_PAGES, _PER_PAGE = 30, 100
_LARGEST = 60_000
"""Characters of a comment; GitHub refuses more than 65,536."""
_CUT = "\n\nThe rest is in the summary of the job.\n"


def marker_of(name: str) -> str:
    """Return the first line of the comment of a gate.

    Examples
    --------
    >>> marker_of("Suite --> x")
    '<!-- headroom-gate:Suite-x -->'
    """
    return f"<!-- headroom-gate:{re.sub('[^A-Za-z0-9]+', '-', name)} -->"


def posted(text: str, name: str, token: str, environment: Mapping[str, str]) -> str:
    """Create or update the comment of a gate; return what happened, as a sentence."""
    repository = environment.get("GITHUB_REPOSITORY", "")
    number = (event_of(environment).get("pull_request") or {}).get("number")
    address = environment.get("GITHUB_API_URL", "https://api.github.com").rstrip("/")
    if not repository or number is None:
        return "no comment: this job belongs to no pull request on GitHub"
    if not token:
        return "no comment: the job has no GITHUB_TOKEN; its summary has the same text"
    if not address.startswith(("https://", "http://")):
        return "no comment: GITHUB_API_URL is no address of the web"
    marker = marker_of(name)
    body = f"{marker}\n{text}"
    if len(body) > _LARGEST:
        body = body[:_LARGEST].rsplit("\n", 1)[0] + _CUT
    try:
        return _written(f"{address}/repos/{repository}/issues", number, body, token)
    except urllib.error.HTTPError as error:
        why = f"GitHub answered HTTP {error.code}"
        if error.code in {401, 403, 404}:
            why = (
                f"the token may not write comments (HTTP {error.code}), as in pull requests from "
                "forks; the summary of the job has the same text"
            )
    except (OSError, ValueError) as error:
        why = str(error)
    return f"no comment: {why}"


def _written(issues: str, number: int, body: str, token: str) -> str:
    known = _found(f"{issues}/{number}/comments", body.partition("\n")[0], token)
    if known is None:
        _asked("POST", f"{issues}/{number}/comments", token, {"body": body})
        return "comment created"
    _asked("PATCH", f"{issues}/comments/{known}", token, {"body": body})
    return "comment updated"


def _found(address: str, marker: str, token: str) -> int | None:
    """Return the number of the comment that begins with a marker, None if there is none."""
    for page in range(1, _PAGES + 1):
        comments = _asked("GET", f"{address}?per_page={_PER_PAGE}&page={page}", token)
        for comment in comments:
            if (comment.get("body") or "").startswith(marker):
                return int(comment["id"])
        if len(comments) < _PER_PAGE:
            break
    return None


def _asked(method: str, address: str, token: str, content: object = None) -> Any:  # noqa: ANN401 - JSON
    request = urllib.request.Request(  # noqa: S310 - of the web, checked above
        address,
        method=method,
        data=None if content is None else json.dumps(content).encode(),
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "X-GitHub-Api-Version": "2022-11-28",
        },
    )
    with urllib.request.urlopen(request, timeout=_TIME_LIMIT_S) as answer:  # noqa: S310
        return json.loads(answer.read())
