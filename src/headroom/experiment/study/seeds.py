"""Seeds and keys: pure functions of their arguments, the same on every machine and version.

A seed depends on (study seed, point key, replication) alone: not on the order of execution, the
number of workers, or the other points of the study. Adding a level to a factor therefore keeps
the seeds of all older points. The function is BLAKE2b (RFC 7693) with a personal string that
names its version; a test pins its values.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from headroom.experiment.protocol.system import Value

_SEED_MASK = 2**63 - 1
_KEY_BYTES = 8


def derive_seed(study_seed: int, point_key: str, replication: int) -> int:
    """Return the seed of one replication, 0 <= seed < 2**63.

    Parameters
    ----------
    study_seed
        Seed of the study, >= 0.
    point_key
        Key of the point, see `point_key`.
    replication
        Number of the replication, from 0.

    Notes
    -----
    The first 8 bytes (little-endian, top bit cleared) of BLAKE2b over
    ``"{study_seed}:{point_key}:{replication}"`` with person ``headroom-seed-1``.

    Examples
    --------
    >>> derive_seed(1, "a", 0)
    8112904208095432800
    """
    text = f"{study_seed}:{point_key}:{replication}".encode()
    digest = hashlib.blake2b(text, digest_size=8, person=b"headroom-seed-1").digest()
    return int.from_bytes(digest, "little") & _SEED_MASK


def point_key(experiment: str, levels: Mapping[str, Value]) -> str:
    """Return the key of a point: 16 hexadecimal digits, unique in a study.

    The key names the experiment and the levels of its factors, in any order; fixed parameters
    and set-up belong to the fingerprint instead, so that a point keeps its name when they change.

    Examples
    --------
    >>> point_key("web", {"users": 10, "disks": 2}) == point_key("web", {"disks": 2, "users": 10})
    True
    """
    return digest([experiment, dict(levels)], size_bytes=_KEY_BYTES)


def order_rank(study_seed: int, block: int, key: str) -> bytes:
    """Return the sort key of the points of a block: a shuffle that no other point disturbs."""
    text = f"{study_seed}:{block}:{key}".encode()
    return hashlib.blake2b(text, digest_size=8, person=b"headroom-order-1").digest()


def digest(content: Any, *, size_bytes: int = 16) -> str:  # noqa: ANN401 - any JSON value
    """Return a hash (hexadecimal) of any JSON-like content, keys of tables in any order.

    Examples
    --------
    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    >>> digest(1) == digest(1.0)
    False
    """
    text = msgspec.json.encode(content, order="deterministic")
    return hashlib.blake2b(text, digest_size=size_bytes).hexdigest()
