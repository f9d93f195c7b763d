"""The only file that talks to the package sideband: open, push, run, with progress and cancel of a task. No Qt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import sideband

from ._feed import pair
from ._model import Model
from ._settings import session
from ._source import Source
from ._task import Task, behind

_POLL_MS = 50
_BLOCK = 16 << 20  # bytes of an array handed over at once


@dataclass
class Outcome:
    """What a command gave: its JSON, its arrays by name, and the library's result, for saving."""

    info: dict[str, Any]
    arrays: dict[str, np.ndarray]
    result: Any


class Keeper:
    """Keeps the acquisition that was used last, with what the library computed from it: previews and the next command
    need it again. One lock, because a preview and a command may ask at the same time."""

    def __init__(self) -> None:
        self._kept: tuple[Any, Any, Source, Any] | None = None  # session, key, source, acquisition

    def get(self, task: Task, source: Source, opening: dict[str, Any], fresh: bool) -> tuple[Any, Any]:
        """Session and acquisition; fresh: frames of an array are handed over again, as they may have changed."""
        now, key = session(), source.key(opening)
        kept = self._kept
        if kept is not None and kept[0] is now and kept[1] == key and not (fresh and source.path is None):
            return now, kept[3]
        self._kept = None
        acquisition = open_source(task, now, source, opening)
        self._kept = (now, key, source, acquisition)
        return now, acquisition

    def drop(self) -> None:
        """Lets go of what is kept."""
        self._kept = None


_keepers: WeakKeyDictionary[Model, Keeper] = WeakKeyDictionary()


def keeper_of(model: Model) -> Keeper:
    """The one keeper of a model."""
    return _keepers.setdefault(model, Keeper())


def new_acquisition(using: Any, scan_shape: tuple[int, int], detector_shape: tuple[int, int], dtype: np.dtype,
                    opening: dict[str, Any]) -> Any:
    """An acquisition whose frames will be pushed."""
    own = {"scan_shape": scan_shape, "detector_shape": detector_shape, "dtype": dtype.newbyteorder("=").name}
    return sideband.Acquisition(session=using, **{**opening, **own})


def _blocks(array: Any) -> list[tuple[int, int]]:
    """Ranges of the first axis: whole chunks where the array has them, else about _BLOCK bytes."""
    n = int(array.shape[0])
    row_bytes = int(np.prod(array.shape[1:], dtype=np.int64)) * np.dtype(array.dtype).itemsize
    step = max(1, _BLOCK // max(1, row_bytes))
    chunks = getattr(array, "chunks", None)
    if chunks:
        first = chunks[0]
        step = max(int(first[0] if isinstance(first, tuple) else first), 1)
    return [(start, min(n, start + step)) for start in range(0, n, step)]


def _push_array(task: Task, acquisition: Any, array: Any, detector_shape: tuple[int, int]) -> None:
    done = 0
    per = int(np.prod(array.shape[1:-2], dtype=np.int64)) if len(array.shape) == 4 else 1
    for start, stop in _blocks(array):
        task.check()
        block = np.asarray(array[start:stop]).reshape(-1, *detector_shape)
        block = np.ascontiguousarray(block, block.dtype.newbyteorder("="))
        for first in range(0, len(block), max(1, _BLOCK // max(1, block[0].nbytes))):
            task.check()
            acquisition.push(block[first:first + max(1, _BLOCK // max(1, block[0].nbytes))], done + first)
        done = stop * per
        task.report(0.3 * stop / array.shape[0], "read frames")


def open_source(task: Task, using: Any, source: Source, opening: dict[str, Any]) -> Any:
    """The acquisition behind a source; an array is handed over block by block."""
    if source.path is not None:
        return sideband.Acquisition(source.path, session=using, **{**source.opening, **opening})
    array = source.array
    detector_shape = (int(array.shape[-2]), int(array.shape[-1]))
    given = dict(opening)
    scan_shape = (int(array.shape[0]), int(array.shape[1])) if len(array.shape) == 4 else None
    shape = given.pop("scan_shape", None) or scan_shape
    for name in ("detector_shape", "dtype", "header_bytes"):
        given.pop(name, None)
    acquisition = new_acquisition(using, pair(shape), detector_shape, np.dtype(array.dtype), given)
    _push_array(task, acquisition, array, detector_shape)
    task.check()
    acquisition.finish()
    return acquisition


def run_command(task: Task, using: Any, command: str, acquisition: Any, parameters: dict[str, Any],
                share: tuple[float, float] = (0.0, 1.0)) -> Outcome:
    """One command to its end. The library works on threads of its own; this one waits, without the GIL."""
    task.check()
    job = sideband.Job(command, acquisition, session=using, **parameters)
    task.on_cancel(job.cancel)
    try:
        behind(job.start)
        while not job.poll(_POLL_MS):
            task.report(share[0] + (share[1] - share[0]) * job.progress(), job.stage)
        result = job.result()
    finally:
        task.on_cancel(None)
    return Outcome(result.info, dict(result.arrays), result)


def work_of(keeper: Keeper, command: str, source: Source | None, opening: dict[str, Any], parameters: dict[str, Any],
            fresh: bool = True) -> Callable[[Task], Outcome]:
    """The work of a widget's command, for a task."""

    def work(task: Task) -> Outcome:
        if source is None:
            return run_command(task, session(), command, None, parameters)
        using, acquisition = keeper.get(task, source, opening, fresh)
        pushed = source.path is None
        return run_command(task, using, command, acquisition, parameters, (0.3, 1.0) if pushed else (0.0, 1.0))

    return work


def run_now(command: str, parameters: dict[str, Any]) -> Outcome:
    """A command without data, waited for."""
    return run_command(Task(lambda _: None), session(), command, None, parameters)
