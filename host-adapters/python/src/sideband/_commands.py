"""One function and one method for each command of the catalog; nothing here knows their names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ._acquisition import Acquisition, is_path
from ._job import Job, Progress, reporter
from ._library import catalog
from ._result import Result
from ._rows import help_of, keywords_of, python_name, rows_of, split
from ._session import Session

_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_OPENING_SHARE = 0.3  # of the progress of a command on an array


def _share(progress: Progress, low: float, high: float) -> Progress:
    report = reporter(progress)
    return lambda fraction, stage: report(low + (high - low) * fraction, stage)


def _with_own(given: Mapping[str, Any], *owners: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each keyword to every owner that has it."""
    return [{key: value for key, value in given.items() if key in owner or key.rstrip("_") in owner} for owner in owners]


def _run(command: Mapping[str, Any], source: Any, session: Session | None, progress: Progress, given: dict[str, Any],
         ) -> Result:
    """Opens what is to be opened, and runs the command on it to its end."""
    own, engine = rows_of(command["groups"]), rows_of(catalog()["session"])
    opened = isinstance(source, Acquisition)
    reading = {} if opened or not command["needs_data"] else rows_of(catalog()["data" if is_path(source) else "pushed"])
    split(given, own, reading, {} if session or opened else engine, whose=f"the command {command['name']}")
    rows, opening, using = _with_own(given, own, reading, engine)
    engine_only = {key: value for key, value in using.items() if key not in own and key not in reading}
    if session is None and engine_only and not opened:
        session = Session(**using)
    if not command["needs_data"]:
        return Job(command["name"], session=session, **rows).start().wait(progress)
    if not opened:
        low = 0.0 if is_path(source) else _OPENING_SHARE
        source = Acquisition(source, session=session, progress=_share(progress, 0.0, low), **opening)
        progress = _share(progress, low, 1.0)
    return Job(command["name"], source, **rows).start().wait(progress)


_HEAD = """{title}. {help}

Parameters
----------
{source}progress : True or function (fraction 0..1, stage), optional
    True prints a line on stderr.
{rows}

Returns
-------
Result
    Its arrays are C-ordered (row, col).

Raises
------
ArgumentError, DataError, FileError, OutOfMemory, BackendError
    With a sentence that names the value and the remedy; an unknown keyword names the nearest one. Ctrl-C cancels.
"""

_SOURCE = """source : path, array or Acquisition
    As of Acquisition, whose rows may be given here as well.
session : Session, optional
    Else the default one; or give rows of Session here (backend, threads, ...).
"""


def _text(command: Mapping[str, Any], source: str) -> str:
    return _HEAD.format(title=command["title"], help=command["help"], source=source,
                        rows=help_of(rows_of(command["groups"]).values()))


def _signature(command: Mapping[str, Any], first: list[inspect.Parameter]) -> inspect.Signature:
    progress = inspect.Parameter("progress", _KEYWORD, default=None)
    return inspect.Signature([*first, progress, *keywords_of(rows_of(command["groups"]))], return_annotation=Result)


def _function(command: Mapping[str, Any]) -> Callable[..., Result]:
    files = command["files"]
    if command["needs_data"]:
        def call(source: Any, *, session: Session | None = None, progress: Progress = None, **rows: Any) -> Result:
            return _run(command, source, session, progress, rows)
        first = [inspect.Parameter("source", _POSITIONAL)]
        rest = [inspect.Parameter("rows", inspect.Parameter.VAR_KEYWORD)]  # of Acquisition and Session
    elif files is not None:
        def call(source: Any = None, *, session: Session | None = None, progress: Progress = None, **rows: Any) -> Result:
            return _run(command, None, session, progress, rows if source is None else {**rows, files: source})
        first, rest = [inspect.Parameter("source", _POSITIONAL, default=None)], []
    else:
        def call(*, session: Session | None = None, progress: Progress = None, **rows: Any) -> Result:
            return _run(command, None, session, progress, rows)
        first, rest = [], []
    using = inspect.Parameter("session", _KEYWORD, default=None)
    signature = _signature(command, [*first, using])
    call.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *rest])
    call.__doc__ = _text(command, _SOURCE if command["needs_data"] else "")
    return call


def _method(command: Mapping[str, Any]) -> Callable[..., Result]:
    def call(self: Acquisition, *, progress: Progress = None, **rows: Any) -> Result:
        return self.start(command["name"], **rows).wait(progress)

    call.__signature__ = _signature(command, [inspect.Parameter("self", _POSITIONAL)])
    call.__doc__ = _text(command, "")
    return call


def _name(function: Callable[..., Result], name: str, inside: str) -> Callable[..., Result]:
    function.__name__, function.__qualname__, function.__module__ = name, inside + name, "sideband"
    return function


def add_methods() -> None:
    """Gives Acquisition a method for each command that needs data, unless it has something of that name."""
    for command in catalog()["commands"]:
        name = python_name(command["name"])
        if command["needs_data"] and not hasattr(Acquisition, name):
            setattr(Acquisition, name, _name(_method(command), name, "Acquisition."))


def functions() -> dict[str, Callable[..., Result]]:
    """name -> function, for each command."""
    return {python_name(command["name"]): _name(_function(command), python_name(command["name"]), "")
            for command in catalog()["commands"]}
