"""Work on a thread of its own that a window may poll, cancel and forget. No Qt.

Neither napari's create_worker nor superqt's generator workers: those lose every RuntimeError, keep what a cancelled
worker holds, and may abort the interpreter at its end. Here every exception is kept, the thread lets go of everything
before `done` turns true, and at the end of the interpreter each task is cancelled and waited for.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from weakref import WeakSet

import sideband

_tasks: WeakSet[Task] = WeakSet()
_NICE = 10  # of work behind a window; only what else wants the processors goes first, an idle one is used whole


def _step_back() -> None:
    if sys.platform == "linux":  # elsewhere a priority belongs to the whole process
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), max(_NICE, os.getpriority(os.PRIO_PROCESS, 0)))


def behind(call: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """`call(*given, **named)` on a thread of lower priority, which those that it starts inherit: the library's. So the window
    goes first where it is drawn by these same processors. Threads that run Python keep their priority: one of them that
    waits for a processor while it holds the interpreter's lock would hold the window up."""
    with ThreadPoolExecutor(1, initializer=_step_back) as executor:
        return executor.submit(call, *given, **named).result()


class Task:
    """One piece of work: `work(task)` runs on a thread; the task says how far it is and what came of it."""

    def __init__(self, work: Callable[[Task], Any]) -> None:
        self._work: Callable[[Task], Any] | None = work
        self._thread: threading.Thread | None = None
        self._cancelled = threading.Event()
        self._stop: Callable[[], Any] | None = None
        self._lock = threading.Lock()
        self.progress = 0.0
        self.stage = ""
        self.value: Any = None
        self.error: BaseException | None = None
        self.done = False

    def start(self) -> Task:
        """Begins; returns itself."""
        _tasks.add(self)
        self._thread = threading.Thread(target=self._run, name="sideband", daemon=True)
        self._thread.start()
        return self

    def _run(self) -> None:
        work, self._work = self._work, None
        try:
            value = work(self)
            if self.cancelled:
                raise sideband.Cancelled("Cancelled.")
            self.value = value
        except BaseException as problem:  # kept for whoever asks; a thread has nobody to raise to
            self.error = problem.with_traceback(None) if isinstance(problem, sideband.Cancelled) else problem
        finally:
            with self._lock:
                self._stop = None
            del work
            self.done = True

    # ---- for the work ----

    def report(self, progress: float, stage: str | None = None) -> None:
        """How far the work is, 0 to 1, and the word for what it does."""
        self.progress = progress
        self.stage = self.stage if stage is None else stage

    def check(self) -> None:
        """Raises sideband.Cancelled once somebody cancelled."""
        if self.cancelled:
            raise sideband.Cancelled("Cancelled.")

    def wait(self, seconds: float) -> None:
        """Sleeps, but not through a cancel."""
        if self._cancelled.wait(seconds):
            self.check()

    def on_cancel(self, stop: Callable[[], Any] | None) -> None:
        """What ends the call that the work is in; None: nothing to end."""
        with self._lock:
            self._stop = stop
        if stop is not None and self.cancelled:
            stop()

    # ---- for the window ----

    @property
    def cancelled(self) -> bool:
        """Whether somebody cancelled."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Asks the work to end; returns at once, may be called again and from any thread."""
        self._cancelled.set()
        with self._lock:
            if self._stop is not None:
                self._stop()

    def join(self, seconds: float | None = None) -> bool:
        """Waits for the end; False where it did not come in time."""
        if self._thread is not None:
            self._thread.join(seconds)
        return self.done


def end_all(seconds: float = 10.0) -> None:
    """Cancels what runs and waits for it: nothing of ours is in the library when it goes away."""
    running = [task for task in list(_tasks) if not task.done]
    for task in running:
        task.cancel()
    for task in running:
        task.join(seconds)


atexit.register(end_all)
