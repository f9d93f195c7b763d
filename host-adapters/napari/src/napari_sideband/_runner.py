"""Progress bar and Cancel button of a task. A timer of the window polls it: no call ever comes from another thread."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import sideband
from napari.utils import cancelable_progress
from napari.utils.notifications import show_error
from qtpy.QtCore import QTimer
from qtpy.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QWidget

from ._task import Task

_POLL_MS = 40
_DRAW_SECONDS = 0.25  # between two drawings: each composes the whole window anew, canvas and all
_log = logging.getLogger(__name__)


class Runner(QWidget):
    """One task at a time: `run(work, then)`; then(value) is called in the window's thread."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = title
        self.task: Task | None = None
        self._then: Callable[[Any], Any] | None = None
        self._ended: Callable[[], Any] | None = None
        self._activity: cancelable_progress | None = None
        self.bar = QProgressBar()
        self.bar.setRange(0, 100)
        self.bar.setFormat("")
        self.cancel_button = QPushButton("Cancel")
        self.cancel_button.setEnabled(False)
        self.cancel_button.clicked.connect(lambda *_: self.cancel())
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.bar, 1)
        layout.addWidget(self.cancel_button)
        self._drawn = 0.0
        self.timer = QTimer(self)
        self.timer.setInterval(_POLL_MS)
        self.timer.timeout.connect(self._poll)
        # the window goes before its Python objects: what it leaves running has nobody to tell
        held = self._held = [None]
        self.destroyed.connect(lambda *_: held[0] is not None and held[0].cancel())

    @property
    def running(self) -> bool:
        """Whether a task is on its way."""
        return self.task is not None

    def run(self, work: Callable[[Task], Any], then: Callable[[Any], Any], ended: Callable[[], Any] | None = None,
            ) -> None:
        """Starts the work; `ended` is called whatever came of it."""
        if self.running:
            return
        self._then, self._ended = then, ended
        self._activity = cancelable_progress(total=100, desc=self.title, leave=False)
        self.cancel_button.setEnabled(True)
        self.bar.setValue(0)
        self.bar.setFormat("%p %")
        self.task = self._held[0] = Task(work).start()
        self.timer.start()

    def cancel(self) -> None:
        """Asks the task to end."""
        if self.task is not None:
            self.task.cancel()
            self.bar.setFormat("cancelling")

    def _poll(self) -> None:
        task = self.task
        if task is None:
            return
        if self._activity is not None and self._activity.is_canceled and not task.cancelled:
            self.cancel()
        if task.done:
            self._finish(task)
            return
        percent = int(100 * task.progress)
        now = time.monotonic()
        if now - self._drawn < _DRAW_SECONDS or percent == self.bar.value():
            return
        self._drawn = now
        if not task.cancelled:
            self.bar.setFormat(f"{task.stage} %p %")
        self.bar.setValue(percent)
        if self._activity is not None and percent > self._activity.n:
            self._activity.set_description(f"{self.title}: {task.stage}" if task.stage else self.title)
            self._activity.update(percent - self._activity.n)

    def _finish(self, task: Task) -> None:
        self.timer.stop()
        then, ended, self._then, self._ended = self._then, self._ended, None, None
        self.task = self._held[0] = None
        if self._activity is not None:
            with suppress(KeyError):
                self._activity.close()
            self._activity = None
        self.cancel_button.setEnabled(False)
        self.bar.setValue(0 if task.error is not None else 100)
        self.bar.setFormat(_word(task.error))
        try:
            if task.error is None and then is not None:
                then(task.value)
            elif task.error is not None and not isinstance(task.error, sideband.Cancelled):
                tell(self.title, task.error)
        except Exception as problem:  # drawing failed: said like any other failure, and the widget stays usable
            self.bar.setFormat("failed")
            tell(self.title, problem)
        finally:
            if ended is not None:
                ended()


def _word(error: BaseException | None) -> str:
    if error is None:
        return "done"
    return "cancelled" if isinstance(error, sideband.Cancelled) else "failed"


def tell(title: str, problem: BaseException) -> None:
    """One sentence for the user, everything else for the log. napari itself shows no error of another thread."""
    _log.debug("%s failed", title, exc_info=problem)
    text = str(problem) or type(problem).__name__
    show_error(f"{title}: {text}")
