"""Cache of earlier fits, in a file next to the journal that can be deleted at any time.

A profile with its jackknife takes seconds, and `headroom show` needs the fitted values before it
knows the points. A fit that failed fails again on the same inputs, so its error is kept as well.

Invariant: what comes out was put in by this very program under this very key, and the key stands
for all that a fit depends on.
"""

from dataclasses import dataclass
from typing import Self

import msgspec
import numpy as np

from headroom.analysis.kept_answers import KeptAnswers
from headroom.experiment.machine.program_identity import digest_of, program_identity
from headroom.experiment.protocol.fit_method import Candidate, FitError, FittedSet, Profile
from headroom.experiment.study.paths import KEPT_FITS_NAME, results_folder
from headroom.experiment.study.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedFit:
    """A `FitError` as data."""

    message: str
    cure: str
    candidates: tuple[Candidate, ...]
    profiles: tuple[Profile, ...]

    @classmethod
    def of(cls, error: FitError) -> Self:
        """Return the data of an error."""
        return cls(
            message=error.message,
            cure=error.cure,
            candidates=error.candidates,
            profiles=error.profiles,
        )

    def error(self) -> FitError:
        """Return the refusal as it was raised when the fit was tried first."""
        return FitError(
            self.message, cure=self.cure, candidates=self.candidates, profiles=self.profiles
        )


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a fit: one of the two."""

    fitted: FittedSet | None = None
    failed: FailedFit | None = None


class KeptFits:
    """Fitted parameters, or errors, by the keys of what they were fitted from.

    Parameters
    ----------
    plan
        The study; its results folder holds the file.
    """

    def __init__(self, plan: Plan) -> None:
        self._folder = results_folder(plan.folder, plan.is_quick)
        self._kept = KeptAnswers(self._folder / KEPT_FITS_NAME)

    def get(self, key: bytes) -> FittedSet | FailedFit | None:
        """Return the outcome of the fit of this key, None if there is none."""
        encoded = self._kept.get(_whole(key))
        if encoded is None:
            return None
        try:
            kept = _DECODER.decode(encoded)
        except msgspec.MsgspecError:
            return None
        return kept.fitted or kept.failed

    def put(self, key: bytes, found: FittedSet | FailedFit) -> None:
        """Keep the outcome of a fit; `save` writes it, one that the file has already too."""
        if self._kept.get(_whole(key)) is None:
            kept = _Kept(failed=found) if isinstance(found, FailedFit) else _Kept(fitted=found)
            self._kept.put(_whole(key), _ENCODER.encode(kept))

    def key(self, short: bytes) -> bytes | None:
        """Return the key that was kept under a shorter one, None if there is none."""
        return self._kept.get(_whole(short))

    def put_key(self, short: bytes, key: bytes) -> None:
        """Keep a key under one that is found sooner."""
        if self._kept.get(_whole(short)) is None:
            self._kept.put(_whole(short), key)

    def save(self) -> None:
        """Write the fits requested or added, if there are results; drop all others."""
        if self._folder.is_dir():
            self._kept.save()


def _whole(key: bytes) -> bytes:
    return digest_of([program_identity(), key])


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"a fit holds {type(value).__name__}")


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_plain)
_DECODER = msgspec.msgpack.Decoder(_Kept)
