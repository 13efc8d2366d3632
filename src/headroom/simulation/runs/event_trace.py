"""The event trace of a run: what happened to each job and where, column by column."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTrace:
    """The first events of a run; all arrays have the shape (events,).

    Parameters
    ----------
    time_s
        When (s), never falling.
    kind
        0 enters the system, 1 has done its work, 2 enters a station, 3 service begins or continues,
        4 service ends, 5 service is interrupted, 6 waits for a place at a station, 7 has the place,
        8 waits for tokens, 9 is granted tokens, 10 returns tokens, 11 is lost or given up, 12 a try
        failed.
    job
        Number of the job; reused after it has left.
    klass
        Index of its class.
    resource
        Index of the station (kinds 2 to 7) or pool (8 to 10), else 0.
    is_truncated
        True if the run had more events.
    """

    time_s: npt.NDArray[np.float64]
    kind: npt.NDArray[np.uint8]
    job: npt.NDArray[np.uint32]
    klass: npt.NDArray[np.uint32]
    resource: npt.NDArray[np.uint32]
    is_truncated: bool
