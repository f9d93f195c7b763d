"""An image that follows what is moved: the latest values are computed, older ones are cancelled."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import sideband
from qtpy.QtCore import QTimer
from qtpy.QtWidgets import QWidget

from ._task import Task

_POLL_MS = 25


class Follower(QWidget):
    """`make()` gives the work for the present values (None: nothing to do); `show(value)` draws what came of it."""

    def __init__(self, make: Callable[[], Callable[[Task], Any] | None], show: Callable[[Any], Any],
                 fail: Callable[[str], Any], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setVisible(False)
        self._make, self._show, self._fail = make, show, fail
        self._outdated = False
        self.task: Task | None = None
        self.drawn = 0
        self.timer = QTimer(self)
        self.timer.setInterval(_POLL_MS)
        self.timer.timeout.connect(self._poll)
        held = self._held = [None]
        self.destroyed.connect(lambda *_: held[0] is not None and held[0].cancel())

    @property
    def busy(self) -> bool:
        """Whether an image is on its way."""
        return self.task is not None or self._outdated

    def changed(self) -> None:
        """The values are others now."""
        self._outdated = True
        if self.task is not None:
            self.task.cancel()
        self.timer.start()

    def stop(self) -> None:
        """Nothing is wanted any more."""
        self._outdated = False
        if self.task is not None:
            self.task.cancel()

    def _poll(self) -> None:
        if self.task is not None:
            if not self.task.done:
                return
            task, self.task = self.task, None
            self._held[0] = None
            self._end(task)
        if not self._outdated:
            self.timer.stop()
            return
        self._outdated = False
        try:
            work = self._make()
        except ValueError as problem:
            self._fail(str(problem))
            return
        if work is not None:
            self.task = self._held[0] = Task(work).start()

    def _end(self, task: Task) -> None:
        if task.error is None:
            self.drawn += 1
            # the layer may have been deleted, or the viewer closed, since
            with suppress(RuntimeError, ReferenceError):
                self._show(task.value)
        elif not isinstance(task.error, sideband.Cancelled):
            self._fail(str(task.error))
