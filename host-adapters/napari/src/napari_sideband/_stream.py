"""Frames handed over as they arrive, images of what is there so far, and the command at the end. No Qt."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import numpy as np
import sideband

from ._catalog import COEFFICIENTS, pushed_rows
from ._engine import Outcome, new_acquisition, run_command
from ._feed import Feed, pair
from ._task import Task

_log = logging.getLogger(__name__)
_BLOCK = 8 << 20  # bytes handed over at once
_WAIT = 0.05  # seconds between looks for new frames
_LOOK_SECONDS = 0.3  # between two images of what is there
PATTERN, PHASE, SUM = "mean_pattern", "ssb", "bright_field"  # the library's looks at frames that are being pushed


class Stream:
    """One stream: `work` runs on a task's thread, the rest may be asked from the window's."""

    def __init__(self, session: Any, feed: Feed, command: str, opening: dict[str, Any], parameters: dict[str, Any],
                 ) -> None:
        shape = pair(opening.get("scan_shape")) or getattr(feed, "scan_shape", None)
        if shape is None:
            raise ValueError("Give the scan shape (rows,cols): nobody else knows how many frames will come.")
        self.session, self.feed, self.command = session, feed, command
        self.scan_shape = shape
        self.total = shape[0] * shape[1]
        own = ("scan_shape", "detector_shape", "dtype", "header_bytes")
        optics = {name: value for name, value in parameters.items() if name in pushed_rows()}
        self._opening = {name: value for name, value in {**optics, **opening}.items() if name not in own}
        self._parameters = parameters
        self._lock = threading.Lock()
        self._looks: dict[str, np.ndarray] = {}
        self._look_time = 0.0
        self._looked = 0  # frames that the last images were of
        self.step: Any = None  # of the scan, in angstrom
        self.pushed = 0

    # ---- for the window ----

    def take_look(self, *names: str) -> np.ndarray | None:
        """The newest of the named images of what has arrived, once: PATTERN [det rows, cols] counts, PHASE or SUM
        [scan rows, cols]."""
        with self._lock:
            return next((self._looks.pop(name) for name in names if name in self._looks), None)

    # ---- on the task's thread ----

    def _push(self, acquisition: Any, last: int, task: Task) -> None:
        frame_bytes = int(np.prod(self.feed.detector_shape)) * self.feed.dtype.itemsize
        most = max(1, _BLOCK // max(1, frame_bytes))
        while self.pushed < last:
            task.check()
            n = min(most, last - self.pushed)
            acquisition.push(np.ascontiguousarray(self.feed.read(self.pushed, n)), self.pushed)
            self.pushed += n
            task.report(0.5 * self.pushed / self.total, f"{self.pushed} of {self.total} frames")

    def _look(self, acquisition: Any) -> None:
        """Images of what is there. They are only looks: what fails in one does not end the stream."""
        now = time.monotonic()
        if self._looked == self.pushed or now - self._look_time < _LOOK_SECONDS:
            return
        self._looked, self._look_time = self.pushed, now
        self._keep(acquisition, PATTERN, PATTERN)
        known = self._parameters.get(COEFFICIENTS)
        self._keep(acquisition, PHASE, f"{PHASE} {known}" if known else PHASE) or self._keep(acquisition, SUM, SUM)

    def _keep(self, acquisition: Any, name: str, asked: str) -> bool:
        try:
            image = acquisition.preview(asked)
        except sideband.Error as problem:
            _log.info("No look (%s): %s", asked, problem)
            return False
        with self._lock:
            self._looks[name] = image
        return True

    def work(self, task: Task) -> Outcome:
        """Pushes until the scan is complete, then runs the command."""
        acquisition = new_acquisition(self.session, self.scan_shape, self.feed.detector_shape, self.feed.dtype,
                                      self._opening)
        self.step = acquisition.info["acquisition"].get("step") or self._parameters.get("step")
        while self.pushed < self.total:
            task.check()
            arrived = min(self.feed.arrived(), self.total)
            if arrived > self.pushed:
                self._push(acquisition, arrived, task)
            else:
                task.wait(_WAIT)
            self._look(acquisition)  # also while nothing comes: the last frames may have come too soon after a look
        task.check()
        acquisition.finish()
        return run_command(task, self.session, self.command, acquisition, self._parameters, share=(0.5, 1.0))
