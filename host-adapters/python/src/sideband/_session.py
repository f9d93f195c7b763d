"""A session: threads, device, plans and memory of the library."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

from ._handle import Handle
from ._library import catalog, check, lib
from ._rows import help_of, rows_of, to_text


class Session:
    """Threads, device, plans and memory. Several may live side by side; each computes one job at a time.

    Raises ArgumentError for a wrong value and BackendError where the named backend cannot work here.
    """

    def __init__(self, **rows: Any) -> None:
        known = rows_of(catalog()["session"])
        pointer = ctypes.c_void_p()
        check(lib.sb_session_new(ctypes.byref(pointer), to_text(rows, known)))
        self._handle = Handle(pointer, "sb_session_free")

    @property
    def rank(self) -> int:
        """0, or the number of this process among those that share acquisitions (MPI); the one of rank 0 writes files."""
        return lib.sb_session_rank(self._handle.pointer)

    def close(self) -> None:
        """Ends the jobs that run; what was opened in the session does nothing any more. Results stay."""
        self._handle.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<sideband.Session>" if self._handle.pointer else "<sideband.Session, closed>"


Session.__doc__ = f"{Session.__doc__}\nParameters\n----------\n{help_of(rows_of(catalog()['session']).values())}\n"

_lock = threading.Lock()
_default: tuple[int, Session] | None = None


def default_session() -> Session:
    """The session of calls that name none, made when it is first needed; a forked child gets its own."""
    global _default
    with _lock:
        if _default is None or _default[0] != os.getpid():
            _default = (os.getpid(), Session())
        return _default[1]
