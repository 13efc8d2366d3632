"""Revisions of a git repository, and checkouts of them in temporary folders.

Invariant: the user's own working tree and branches are never changed; a checkout is removed at the
end, also after an error.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headroom.errors import EnvironmentUnfitError, StudyError
from headroom.experiment.machine.repository import git


def commit_of(folder: Path, revision: str) -> str | None:
    """Return the commit hash of a revision, None if the repository has none of that name."""
    if revision.startswith("-"):
        return None
    return git(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")


def known_commit(folder: Path, revision: str) -> str:
    """Return the commit hash of a revision.

    Raises
    ------
    StudyError
        This is no repository, or the revision is unknown.
    """
    commit = commit_of(folder, revision)
    if commit is None:
        where = git(folder, "rev-parse", "--show-toplevel")
        raise StudyError(
            f"`{revision}` is not a revision"
            + (f" of {where}" if where else ": no git repository"),
            cure="name a commit, branch or tag of this repository; `git log` lists them",
        )
    return commit


def prefix_of(folder: Path) -> str:
    """Return the path of a folder within its repository, empty at the top."""
    return git(folder, "rev-parse", "--show-prefix") or ""


@contextmanager
def checkouts(folder: Path, commits: list[str]) -> Iterator[list[Path]]:
    """Check out commits side by side for a while; yields the top folder of each.

    Parameters
    ----------
    folder
        A folder in the repository.
    commits
        Commit hashes; one may be there twice.

    Raises
    ------
    EnvironmentUnfitError
        git cannot make a checkout.
    """
    with tempfile.TemporaryDirectory(prefix="headroom-compare-") as name:
        roots = [Path(name) / f"{place}-{commit[:8]}" for place, commit in enumerate(commits)]
        try:
            for root, commit in zip(roots, commits, strict=True):
                words = ("worktree", "add", "--detach", str(root), commit)
                if git(folder, *words, time_limit_s=None) is None:
                    raise EnvironmentUnfitError(
                        f"git cannot check out {commit[:12]}",
                        cure=f"see why: git worktree add --detach FOLDER {commit[:12]}",
                    )
            yield roots
        finally:
            for root in roots:
                git(folder, "worktree", "remove", "--force", str(root))
