"""The part of a run that remains after the warm-up is cut.

All tables of a run are cumulative, so a window is the difference of two snapshots. Histograms are
stored per segment, so a window drops whole segments.

Invariant: a window starts at the first snapshot at or after the cut, never before it, and ends
with the run.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headroom.experiment.protocol.run import FloatArray, Histogram, ResourceKind, ResourceTable, Run

ROUNDING = 1e-9
"""Relative room for the rounding of times when a cut is compared with a snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One run from `start_s` to `end_s` (s since the start of the run).

    `first` is the index of the snapshot at which the window starts, or -1 where it starts at
    time zero, at which every cumulative column is zero.
    """

    run: Run
    first: int
    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """Length (s) of the window, above zero."""
        return self.end_s - self.start_s

    def table(self, kind: ResourceKind) -> ResourceTable | None:
        """Return the run's table of `kind`, None if the run has none."""
        return next((table for table in self.run.resources if table.kind == kind), None)

    def snapshots(self, column: FloatArray) -> FloatArray:
        """Return the rows of a cumulative column from the start of the window to its end.

        Shape (kept snapshots, resources); the first row is the state at `start_s`.
        """
        if self.first < 0:
            return np.vstack([np.zeros((1, column.shape[1])), column])
        return column[self.first :]

    def times_s(self) -> FloatArray:
        """Return the times (s) that belong to the rows of `snapshots`."""
        if self.first < 0:
            return np.concatenate([[0.0], self.run.snapshot_times_s])
        return self.run.snapshot_times_s[self.first :]

    def increments(self, table: ResourceTable) -> dict[str, FloatArray]:
        """Return the increase of each column of `table` within the window, per resource.

        Examples
        --------
        >>> table = ResourceTable(kind="station", names=("cpu",), capacity=np.array([1.0]),
        ...                       columns={"busy_s": np.array([[1.0], [4.0]])})
        >>> run = Run(snapshot_times_s=np.array([2.0, 6.0]), resources=(table,))
        >>> open_window(run, cut_s=1.5).increments(table)
        {'busy_s': array([3.])}
        """
        return {name: self._increment(column) for name, column in table.columns.items()}

    def _increment(self, column: FloatArray) -> FloatArray:
        start = column[self.first] if self.first >= 0 else 0.0
        return np.asarray(column[-1] - start, dtype=np.float64)

    def kept_segments(self, histogram: Histogram) -> npt.NDArray[np.bool_]:
        """Return for each segment of `histogram` whether it lies after `start_s`."""
        starts_s = np.concatenate([[0.0], histogram.segment_end_times_s])[:-1]
        return np.asarray(starts_s >= self.start_s * (1.0 - ROUNDING), dtype=np.bool_)

    def kept_counts(self, histogram: Histogram) -> FloatArray:
        """Return the observations per bin in the segments that lie after `start_s`."""
        kept = self.kept_segments(histogram)
        return np.asarray(histogram.counts[kept].sum(axis=0), dtype=np.float64)


def open_window(run: Run, *, cut_s: float) -> Window | None:
    """Return the window of `run` after a warm-up of `cut_s` (s), None if nothing is left.

    A run without tables has an open end: only its series and histograms have a clock.
    """
    times_s = run.snapshot_times_s
    if times_s.size == 0:
        return Window(run=run, first=-1, start_s=cut_s, end_s=float("inf"))
    end_s = float(times_s[-1])
    if cut_s <= 0.0:
        return Window(run=run, first=-1, start_s=0.0, end_s=end_s) if end_s > 0.0 else None
    first = int(np.searchsorted(times_s, cut_s * (1.0 - ROUNDING)))
    if first >= times_s.size - 1 or times_s[first] >= end_s:
        return None
    return Window(run=run, first=first, start_s=float(times_s[first]), end_s=end_s)
