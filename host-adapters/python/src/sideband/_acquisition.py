"""An acquisition: a file that the library reads, an array whose frames are handed over, or frames as they come."""

from __future__ import annotations

import ctypes
import json
import os
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._arrays import FrameArray
from ._capi import DTYPE_NAMES, view_of
from ._errors import ArgumentError, StateError
from ._handle import Handle
from ._job import Job, Progress, reporter
from ._library import catalog, check, lib, required
from ._rows import help_of, rows_of, to_text
from ._session import Session, default_session

_PUSH = 16 << 20  # bytes handed over in one call, so that Ctrl-C is answered


def is_path(source: Any) -> bool:
    """Whether a source is the name of a file."""
    return isinstance(source, (str, bytes, os.PathLike))


def _pair(name: str, value: Any) -> tuple[int, int] | None:
    """(rows, cols) of a shape however it is written."""
    if value is None:
        return None
    parts = value.split(",") if isinstance(value, str) else value
    try:
        rows, cols = (int(part) for part in parts)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} is {value!r}; give (rows, cols) in whole numbers.") from None
    return rows, cols


class Acquisition:
    """Frames of a 4D-STEM scan, [scan row, scan col, detector row, detector col] in counts.

    Parameters
    ----------
    source : path, array or None
        A file of any format of the catalog (only its header is read now). Or an array [R, C, r, c], or [N, r, c] with
        scan_shape: NumPy, dask, h5py, zarr or alike; it is read once, now, in storage order, with at most two blocks in
        memory. None: frames will be pushed; scan_shape, detector_shape and dtype are needed then.
    session : Session, optional
        Else the default one.
    progress : True or function (fraction 0..1, stage), optional
        For arrays.
    **rows
        Parameters of the data, below. For arrays and pushed frames also optics and calibration, as if a file said them.

    Raises ArgumentError, FileError, or DataError where the frames cannot be used.
    """

    def __init__(self, source: Any = None, *, session: Session | None = None, progress: Progress = None, **rows: Any,
                 ) -> None:
        self.session = session or default_session()
        self._lock = threading.Lock()
        self._pushed = 0
        self.finished = is_path(source)
        if is_path(source):
            self._open(os.fsencode(source), rows)
            return
        frames = None
        if source is not None:
            frames = source if isinstance(source, FrameArray) else FrameArray(
                source, _pair("scan_shape", rows.pop("scan_shape", None)))
            rows = {**rows, "scan_shape": list(frames.scan_shape), "detector_shape": list(frames.detector_shape),
                    "dtype": frames.dtype.name}
        self._new(rows)
        if frames is not None:
            self._push_all(frames, progress)
            self.finish()

    def _take(self, pointer: ctypes.c_void_p) -> None:
        self._handle = Handle(pointer, "sb_data_free", self.session)

    def _open(self, path: bytes, rows: Mapping[str, Any]) -> None:
        pointer = ctypes.c_void_p()
        known = rows_of(catalog()["data"])
        check(lib.sb_data_open(ctypes.byref(pointer), self.session._handle.pointer, path, to_text(rows, known)))
        self._take(pointer)

    def _new(self, rows: Mapping[str, Any]) -> None:
        pointer = ctypes.c_void_p()
        dtype = rows.get("dtype")
        if dtype is not None and not isinstance(dtype, str):
            rows = {**rows, "dtype": np.dtype(dtype).name}
        known = rows_of(catalog()["pushed"])
        check(lib.sb_data_new(ctypes.byref(pointer), self.session._handle.pointer, to_text(rows, known)))
        self._take(pointer)

    def _push_all(self, frames: FrameArray, progress: Progress) -> None:
        report, done = reporter(progress), 0
        for region, block in frames.blocks():
            for first, run in frames.runs(region, block):
                self.push(run, first)
                done += len(run)
                report(done / frames.frames, "read frames")

    # ---- frames ----

    def push(self, frames: np.ndarray, first: int | None = None) -> None:
        """Hands over frames [n, rows, cols] or one [rows, cols]; copied. Any thread may call it.

        first: number of the first one, row by row through the scan; None: behind the last ones that were pushed so.
        Raises ArgumentError for a wrong shape or number type, StateError after finish().
        """
        frames = np.asarray(frames)
        if frames.dtype.newbyteorder("=").name not in DTYPE_NAMES:
            raise ArgumentError(f"The frames hold {frames.dtype.name}; convert them to one of {', '.join(DTYPE_NAMES)}.")
        if not frames.dtype.isnative:
            frames = frames.astype(frames.dtype.newbyteorder("="))
        if frames.ndim == 2:
            frames = frames[np.newaxis]
        if frames.ndim != 3 or 0 in frames.shape:
            raise ArgumentError(f"The frames' shape is {frames.shape}; give [n, rows, cols] or [rows, cols].")
        with self._lock:  # frames without a number take their place in the order of the calls
            start = self._pushed if first is None else int(first)
            if first is None:
                self._pushed += len(frames)
        step = max(1, _PUSH // max(1, frames[0].nbytes))
        for place in range(0, len(frames), step):
            part = frames[place:place + step]
            check(lib.sb_data_push(self._handle.pointer, start + place, len(part), ctypes.byref(view_of(part))))

    @property
    def pushed(self) -> int:
        """Frames that the library has."""
        return self.frames

    def finish(self) -> None:
        """All frames are pushed; commands may start. DataError where the frames cannot be used."""
        check(lib.sb_data_finish(self._handle.pointer))
        self.finished = True

    def read(self, first: int, n: int = 1) -> np.ndarray:
        """Frames [first, first + n) of a file as they are stored, [n, rows, cols]. StateError for pushed frames."""
        about = self.info["acquisition"]
        block = np.empty((max(0, int(n)), *about["detector_shape"]), about["dtype"])
        check(lib.sb_data_frames(self._handle.pointer, int(first), int(n), ctypes.byref(view_of(block))))
        return block

    def preview(self, what: str = "mean_pattern") -> np.ndarray:
        """A look at what is there, at any time, float32: "mean_pattern" [detector rows, cols] in counts.

        Of frames that are being pushed also images [scan rows, cols]: "bright_field" in counts, and "ssb" in rad, behind
        which coefficients may stand ("ssb C10=5.5"). StateError while there is nothing to see.
        """
        about = self.info["acquisition"]
        shape = about["detector_shape"] if what == "mean_pattern" else about["scan_region"][2:]
        image = np.empty(shape or (1, 1), np.float32)
        check(lib.sb_data_preview(self._handle.pointer, what.encode("utf-8"), ctypes.byref(view_of(image))))
        return image

    # ---- what it says of itself ----

    @property
    def info(self) -> dict[str, Any]:
        """{"acquisition": {format, scan_shape, detector_shape, dtype, frames, energy (kV), semiangle (mrad), step (Å),
        sampling (mrad/pixel), warnings, ...}, "source": {...}}; None where nobody said it."""
        with self._lock:  # the text is the library's until the next call
            return json.loads(required(lib.sb_data_info(self._handle.pointer)))

    @property
    def scan_shape(self) -> tuple[int, int] | None:
        """Rows and columns of the scan; None where it is not known."""
        shape = self.info["acquisition"]["scan_shape"]
        return tuple(shape) if shape else None

    @property
    def detector_shape(self) -> tuple[int, int]:
        """Rows and columns of a frame."""
        return tuple(self.info["acquisition"]["detector_shape"])

    @property
    def dtype(self) -> np.dtype:
        """Number type of the counts."""
        return np.dtype(self.info["acquisition"]["dtype"])

    @property
    def frames(self) -> int:
        """Frames in the file, or pushed until now."""
        return int(self.info["acquisition"]["frames"])

    @property
    def warnings(self) -> list[str]:
        """Sentences about what is doubtful in it."""
        return list(self.info["acquisition"]["warnings"])

    # ---- work ----

    def start(self, command: str, **rows: Any) -> Job:
        """Starts a command of the catalog and returns its job at once."""
        if not self.finished:
            raise StateError("Frames are still being pushed; call finish() first.")
        return Job(command, self, **rows).start()

    def close(self) -> None:
        """Lets go of it now; jobs that run go on."""
        self._handle.close()

    def __repr__(self) -> str:
        if not self._handle.pointer:
            return "<sideband.Acquisition, closed>"
        about = self.info["acquisition"]
        scan = "x".join(str(n) for n in about["scan_shape"] or ("?", "?"))
        return f"<sideband.Acquisition {scan} of {'x'.join(str(n) for n in about['detector_shape'])}, {about['dtype']}>"


Acquisition.__doc__ = f"{Acquisition.__doc__}\nRows\n----\n{help_of(rows_of(catalog()['data']).values())}\n"
