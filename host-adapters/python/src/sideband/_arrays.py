"""Arrays of frames of whatever kind, read in storage order with at most two blocks in memory."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._capi import DTYPE_NAMES
from ._errors import ArgumentError, DataError

BLOCK = 32 << 20  # bytes read at once, where the array's chunks allow
_MOST = 256 << 20  # bytes beyond which even a chunk is read in parts


@dataclass(frozen=True)
class Region:
    """Part of a scan [rows, cols]."""

    row: int
    col: int
    rows: int
    cols: int


class FrameArray:
    """An array [scan rows, scan cols, rows, cols] or [frames, rows, cols] with shape, dtype and slicing.

    Raises ArgumentError for other shapes, for number types the library does not take (nothing is cast silently) and for
    masked arrays.
    """

    def __init__(self, array: Any, scan_shape: tuple[int, int] | None = None) -> None:
        if isinstance(array, (list, tuple)):
            array = np.asarray(array)
        if not all(hasattr(array, name) for name in ("shape", "dtype", "__getitem__")):
            raise ArgumentError(f"{type(array).__name__} is neither a path nor an array of frames (shape, dtype, slices).")
        if isinstance(array, np.ma.MaskedArray):
            raise ArgumentError("The array is masked; fill it first (array.filled(0)).")
        shape = tuple(int(n) for n in array.shape)
        if len(shape) not in (3, 4) or 0 in shape:
            raise ArgumentError(f"The array's shape is {shape}; frames are [scan rows, scan columns, rows, columns], or "
                                "[frames, rows, columns] with scan_shape.")
        self.array = array
        self.dtype = np.dtype(array.dtype).newbyteorder("=")
        if self.dtype.name not in DTYPE_NAMES:
            raise ArgumentError(f"The array holds {self.dtype.name}; convert it to one of {', '.join(DTYPE_NAMES)}.")
        self.frames = shape[0] if len(shape) == 3 else shape[0] * shape[1]
        self.detector_shape = (shape[-2], shape[-1])
        self.scan_shape = self._scan_shape(shape, scan_shape)
        # frames one after the other are a scan of one column
        self._axes = shape[:2] if len(shape) == 4 else (shape[0], 1)

    def _scan_shape(self, shape: tuple[int, ...], given: tuple[int, int] | None) -> tuple[int, int]:
        if given is None and len(shape) == 3:
            raise ArgumentError(f"The array is a stack of {shape[0]} frames; give scan_shape (rows, cols).")
        if given is None:
            return shape[0], shape[1]
        if given[0] * given[1] < self.frames:
            raise ArgumentError(f"The array has {self.frames} frames, a scan of {given[0]},{given[1]} has "
                                f"{given[0] * given[1]}; correct scan_shape or take the part that is the scan.")
        return given

    @property
    def _frame_bytes(self) -> int:
        return self.detector_shape[0] * self.detector_shape[1] * self.dtype.itemsize

    def _chunk(self) -> tuple[int, int]:
        """Scan rows and columns that are stored together."""
        chunks = getattr(self.array, "chunks", None)
        if not chunks:
            return 1, 1
        first = [int(c[0] if isinstance(c, (tuple, list)) else c) for c in chunks[:2]]
        cols = first[1] if len(self.array.shape) == 4 else 1
        return max(1, min(first[0], self._axes[0])), max(1, min(cols, self._axes[1]))

    def _region_shape(self) -> tuple[int, int]:
        """Rows and columns of a block: whole chunks of about BLOCK bytes, whole scan rows if they fit."""
        rows, cols = self._chunk()
        if rows * cols * self._frame_bytes > _MOST:
            cols = max(1, _MOST // (rows * self._frame_bytes))
            rows = min(rows, max(1, _MOST // (cols * self._frame_bytes)))
            return rows, cols
        cols = min(self._axes[1], cols * max(1, BLOCK // (rows * cols * self._frame_bytes)))
        if cols == self._axes[1]:
            rows = min(self._axes[0], rows * max(1, BLOCK // (rows * cols * self._frame_bytes)))
        return rows, cols

    def regions(self) -> Iterator[Region]:
        """Blocks in storage order."""
        rows, cols = self._region_shape()
        for row in range(0, self._axes[0], rows):
            for col in range(0, self._axes[1], cols):
                yield Region(row, col, min(rows, self._axes[0] - row), min(cols, self._axes[1] - col))

    def read(self, region: Region) -> np.ndarray:
        """Frames of a region, [rows, cols, detector rows, detector cols], in this machine's byte order."""
        rows = slice(region.row, region.row + region.rows)
        index = (rows, slice(region.col, region.col + region.cols)) if len(self.array.shape) == 4 else rows
        block = np.asarray(self.array[index])
        wanted = (region.rows, region.cols, *self.detector_shape)
        if block.size != np.prod(wanted, dtype=np.int64):
            raise DataError(f"The array gave a block of shape {block.shape} where {wanted} was asked for.")
        return block.reshape(wanted).astype(self.dtype, copy=False)

    def _read_or_say(self, region: Region) -> np.ndarray:
        """As read, but what goes wrong in somebody else's array is a DataError that says where."""
        try:
            return self.read(region)
        except (DataError, MemoryError):
            raise
        except Exception as problem:
            raise DataError(f"The block at scan row {region.row}, column {region.col} of the array could not be read: "
                            f"{type(problem).__name__}: {problem}") from problem

    def blocks(self) -> Iterator[tuple[Region, np.ndarray]]:
        """(region, frames) of all; the next block is read by another thread while the caller works on one."""
        if type(self.array) is np.ndarray:  # in memory already
            for region in self.regions():
                yield region, self.read(region)
            return
        pool = ThreadPoolExecutor(1, "sideband-read")
        try:
            regions = self.regions()
            region = next(regions)
            waiting = pool.submit(self._read_or_say, region)
            for following in [*regions, None]:
                block = waiting.result()
                waiting = pool.submit(self._read_or_say, following) if following is not None else None
                yield region, block
                del block  # else three blocks live while the next one is fetched
                region = following
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def runs(self, region: Region, block: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """(first frame, frames [n, rows, cols]) of a block, contiguous in the scan."""
        if region.cols == self._axes[1]:
            yield region.row * region.cols, block.reshape(-1, *self.detector_shape)
            return
        for row in range(region.rows):
            yield (region.row + row) * self._axes[1] + region.col, block[row]
