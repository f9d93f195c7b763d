"""A job: one run of one command on a thread of the library."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ._capi import Status, view_of
from ._errors import Cancelled, error_of
from ._handle import Handle
from ._library import check, lib, text
from ._result import Result
from ._rows import command_of, rows_of, to_text
from ._session import Session, default_session
from ._temporary import Temporary

if TYPE_CHECKING:
    from ._acquisition import Acquisition

Progress = Callable[[float, str], Any] | bool | None
_POLL_MS = 50


class Job:
    """One run of one command; it computes without the GIL, on threads of the library.

    Parameters
    ----------
    command : str
        A name of the catalog's commands: calibrate, fit, reconstruct, run, detector, simulate, ...
    acquisition : Acquisition, optional
        What the command works on; simulate and batch take none.
    session : Session, optional
        For commands without acquisition; else the acquisition's.
    **rows
        Parameters of the command; `help(sideband.run)` lists them.

    Raises ArgumentError for an unknown name (the sentence says the nearest) or a wrong value. A job that nobody refers to
    any more is cancelled.
    """

    def __init__(self, command: str, acquisition: Acquisition | None = None, *, session: Session | None = None,
                 **rows: Any) -> None:
        known = rows_of(command_of(command)["groups"])
        self.command = command
        self.session = session or (acquisition.session if acquisition is not None else default_session())
        self._temporary = Temporary()
        pointer = ctypes.c_void_p()
        data = acquisition._handle.pointer if acquisition is not None else None
        check(lib.sb_job_new(ctypes.byref(pointer), self.session._handle.pointer, command.encode("utf-8"), data,
                             to_text(self._temporary.replace(rows, known), known)))
        self._handle = Handle(pointer, "sb_job_free", self.session, acquisition, self._temporary)
        self._shape = acquisition.detector_shape if acquisition is not None else None
        self._result: Result | None = None

    def start(self) -> Job:
        """Starts it; returns at once. StateError where frames are still to be pushed or it was started before."""
        check(lib.sb_job_start(self._handle.pointer))
        return self

    def poll(self, ms: int = 0) -> bool:
        """Waits up to `ms` milliseconds. True: ended well; False: still running; raises its error where it failed."""
        status = lib.sb_job_wait(self._handle.pointer, max(0, int(ms)))
        if status == Status.RUNNING:
            return False
        self._temporary.remove()
        if status == Status.CANCELLED:
            raise Cancelled(f"{self.command} was cancelled.")
        check(status)
        return True

    def progress(self) -> float:
        """0 .. 1 of the whole job; any thread may ask."""
        return lib.sb_job_progress(self._handle.pointer, None)

    @property
    def stage(self) -> str:
        """What it does now: "load", "fit", ..."""
        word = ctypes.c_char_p()
        lib.sb_job_progress(self._handle.pointer, ctypes.byref(word))
        return text(word.value)

    @property
    def done(self) -> bool:
        """Whether it ended, well or not."""
        return lib.sb_job_wait(self._handle.pointer, 0) not in (Status.RUNNING, Status.STATE)

    @property
    def error(self) -> str:
        """The sentence of its failure; "" while there is none."""
        return text(lib.sb_job_error(self._handle.pointer))

    def cancel(self) -> None:
        """Asks it to stop, from any thread; it ends within half a second."""
        lib.sb_job_cancel(self._handle.pointer)

    def wait(self, progress: Progress = None, timeout: float | None = None) -> Result:
        """Waits for the end and returns the result. Ctrl-C cancels the job and raises KeyboardInterrupt.

        progress: True prints a line on stderr; a function is called with (fraction 0..1, stage) from this thread.
        timeout: seconds, after which TimeoutError is raised and the job goes on.
        """
        report, end = reporter(progress), None if timeout is None else time.monotonic() + timeout
        try:
            while not self.poll(_POLL_MS):
                report(self.progress(), self.stage)
                if end is not None and time.monotonic() > end:
                    break
            else:
                report(1.0, "done")
                return self.result()
        except BaseException:
            self.cancel()
            while lib.sb_job_wait(self._handle.pointer, _POLL_MS) == Status.RUNNING:
                pass
            raise
        raise TimeoutError(f"{self.command} has not ended after {timeout:g} s; it goes on.")

    def result(self) -> Result:
        """The result; StateError until it ended well."""
        if self._result is None:
            pointer = lib.sb_job_result(self._handle.pointer)
            if not pointer:
                raise error_of(Status.STATE, self.error or f"{self.command} has no result yet; wait for it.")
            self._result = Result(ctypes.c_void_p(pointer), self._handle)
        return self._result

    def preview(self, name: str) -> np.ndarray:
        """A look at what is there, float32: "mean_pattern" [detector rows, cols] at any time, an image of the result
        ("phase") [rows, cols] once it ended; StateError before."""
        shape = self._shape
        if name != "mean_pattern" or shape is None:
            listed = {array["name"]: tuple(array["shape"]) for array in self.result().info["arrays"]}
            shape = listed.get(name, (1, 1))
        image = np.empty(shape, np.float32)
        check(lib.sb_job_preview(self._handle.pointer, name.encode("utf-8"), ctypes.byref(view_of(image))))
        return image

    def __repr__(self) -> str:
        return f"<sideband.Job {self.command}, {100 * self.progress():.0f} %>"


def reporter(progress: Progress) -> Callable[[float, str], Any]:
    """The function that `progress` stands for."""
    if progress is None or progress is False:
        return lambda fraction, stage: None
    if callable(progress):
        return progress

    def line(fraction: float, stage: str) -> None:
        print(f"\r{100 * fraction:3.0f} % {stage:<20}", end="\n" if fraction >= 1 else "", file=sys.stderr, flush=True)

    return line
