"""What can go wrong, as exceptions. None derives from RuntimeError: Qt workers swallow that one."""

from __future__ import annotations

from ._capi import Status


class Error(Exception):
    """A call of the library failed; the text is one sentence that names the value and the remedy."""

    status: int = Status.INTERNAL


class Cancelled(Error):
    """The work was cancelled; not a failure."""

    status = Status.CANCELLED


class ArgumentError(Error, ValueError):
    """A value given by the caller is wrong or missing."""

    status = Status.ARGUMENT


class DataError(Error):
    """The acquisition itself cannot be used."""

    status = Status.DATA


class FileError(Error, OSError):
    """A file cannot be read or written."""

    status = Status.IO


class OutOfMemory(Error, MemoryError):
    """The memory does not suffice."""

    status = Status.MEMORY


class BackendError(Error):
    """A device or its library failed."""

    status = Status.BACKEND


class ForkedError(Error):
    """Called in a forked child of the process that made the session."""

    status = Status.FORKED


class StateError(Error):
    """Called in the wrong order."""

    status = Status.STATE


class InternalError(Error):
    """A fault of the library itself."""

    status = Status.INTERNAL


_CLASSES = {kind.status: kind for kind in (Cancelled, ArgumentError, DataError, FileError, OutOfMemory, BackendError,
                                           ForkedError, StateError, InternalError)}


def error_of(status: int, message: str) -> Error:
    """The exception of a status other than OK, with the library's sentence."""
    return _CLASSES.get(status, InternalError)(message or f"The library failed with status {status} and no message.")
