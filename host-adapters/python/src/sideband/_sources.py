"""Acquisitions of other Python programs, with the calibration they carry. None of these programs is needed here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ._acquisition import Acquisition
from ._arrays import FrameArray, Region
from ._errors import ArgumentError
from ._job import Progress
from ._session import Session
from ._units import detector_of, step_of


def _made(array: Any, known: Mapping[str, Any], rows: Mapping[str, Any], session: Session | None, progress: Progress,
          ) -> Acquisition:
    """What the caller gives wins over what the other program knows; numbers that are none are not known."""
    usable = {name: value for name, value in known.items()
              if value is not None and all(math.isfinite(n) and n > 0 for n in np.atleast_1d(value))}
    return Acquisition(array, session=session, progress=progress, **{**usable, **rows})


def _asked(owner: Any, name: str) -> Any:
    """owner.name() where there is such a method and it knows an answer."""
    method = getattr(owner, name, None)
    if not callable(method):
        return None
    try:
        return method()
    except Exception:  # py4DSTEM raises whatever it likes where a value was never set
        return None


def from_py4dstem(datacube: Any, *, session: Session | None = None, progress: Progress = None, **rows: Any) -> Acquisition:
    """An acquisition from py4DSTEM's DataCube, [R_Nx, R_Ny, Q_Nx, Q_Ny], with its pixel sizes.

    Parameters
    ----------
    datacube : py4DSTEM.DataCube
        What is taken: data, R_pixel_size (A, nm), Q_pixel_size (mrad, or A^-1 where energy is given) and the convergence
        semi-angle. Rotation and flip are not: Sideband's own calibration finds them in its own convention.
    **rows
        As of Acquisition, for arrays: energy (kV), semiangle (mrad), step (Å), ... What is given wins.

    Raises ArgumentError and DataError as Acquisition does.
    """
    data, calibration = getattr(datacube, "data", None), getattr(datacube, "calibration", None)
    if data is None or calibration is None:
        raise ArgumentError(f"{type(datacube).__name__} has no data and calibration; give a DataCube of py4DSTEM.")
    known: dict[str, Any] = {"semiangle": _asked(calibration, "get_convergence_semiangle_mrad")}
    r_unit, r_size = _asked(calibration, "get_R_pixel_units"), _asked(calibration, "get_R_pixel_size")
    if r_size is not None and "step" not in rows:
        known["step"] = step_of((r_size, r_size), (r_unit, r_unit))
    q_unit, q_size = _asked(calibration, "get_Q_pixel_units"), _asked(calibration, "get_Q_pixel_size")
    if q_size is not None and "sampling" not in rows:
        known.update(detector_of((q_size, q_size), (q_unit, q_unit)))
    return _made(data, known, rows, session, progress)


def _inner(tree: Any, *path: str) -> Any:
    """A leaf of nested mappings; None where a step is missing."""
    for name in path:
        tree = tree.get(name) if isinstance(tree, Mapping) else None
    return tree


def _as_dictionary(signal: Any) -> Mapping[str, Any]:
    """data, axes and metadata of a HyperSpy signal, as rosettasciio has them."""
    manager, metadata = getattr(signal, "axes_manager", None), getattr(signal, "metadata", None)
    if manager is None or metadata is None or not hasattr(signal, "data"):
        raise ArgumentError(f"{type(signal).__name__} is neither a signal of HyperSpy nor a dictionary of rosettasciio (data, "
                            "axes, metadata).")
    return {"data": signal.data, "axes": list(manager.as_dictionary().values()), "metadata": metadata.as_dictionary()}


def _signal_last(array: Any, axes: list[Mapping[str, Any]]) -> None:
    """Refuses arrays whose detector axes come first; transposing is the caller's choice."""
    flags = [axis.get("navigate") for axis in axes]
    if len(axes) != len(array.shape):
        raise ArgumentError(f"The signal has {len(array.shape)} axes of data and describes {len(axes)}; correct its axes.")
    if any(flag is not None for flag in flags) and flags[-2:] != [False, False]:
        raise ArgumentError("The last two axes are not the detector's (signal axes); reorder them, in HyperSpy with "
                            "signal.transpose(signal_axes=2).")


def from_hyperspy(signal: Any, *, session: Session | None = None, progress: Progress = None, **rows: Any) -> Acquisition:
    """An acquisition from a HyperSpy (pyxem, LiberTEM) signal, lazy or not, or from what a rosettasciio reader gives.

    Parameters
    ----------
    signal : signal, dict, or list with one dict
        data [scan rows, scan cols, rows, cols] with axes (scale, units, navigate), and in its metadata
        Acquisition_instrument.TEM: beam_energy (kV) and convergence_angle (mrad).
    **rows
        As of Acquisition, for arrays. What is given wins.

    Raises ArgumentError and DataError as Acquisition does.
    """
    if isinstance(signal, (list, tuple)):
        if len(signal) != 1:
            raise ArgumentError(f"The file holds {len(signal)} signals; give the one with the frames.")
        signal = signal[0]
    tree = signal if isinstance(signal, Mapping) else _as_dictionary(signal)
    array, axes = tree.get("data"), list(tree.get("axes") or [])
    if array is None:
        raise ArgumentError("The dictionary has no data; give one of rosettasciio (data, axes, metadata).")
    _signal_last(array, axes)
    instrument = ("Acquisition_instrument", "TEM")
    known: dict[str, Any] = {"energy": _inner(tree.get("metadata"), *instrument, "beam_energy"),
                             "semiangle": _inner(tree.get("metadata"), *instrument, "convergence_angle")}
    scales = [axis.get("scale") or 0.0 for axis in axes]
    units = [axis.get("units") for axis in axes]
    if len(axes) == 4 and "step" not in rows:
        known["step"] = step_of((scales[0], scales[1]), (units[0], units[1]))
    if "sampling" not in rows:
        known.update(detector_of((scales[-2], scales[-1]), (units[-2], units[-1])))
    return _made(array, known, rows, session, progress)


class _Partitions(FrameArray):
    """The frames of a LiberTEM DataSet: its partitions are the blocks."""

    def __init__(self, dataset: Any, scan_shape: tuple[int, int] | None) -> None:
        self._dataset = dataset
        super().__init__(_Shaped(tuple(int(n) for n in dataset.shape), np.dtype(dataset.dtype)), scan_shape)
        self._axes = (self.frames, 1)
        self._partitions = {int(part.slice.origin[0]): part for part in dataset.get_partitions()}

    def regions(self) -> Iterator[Region]:
        for first in sorted(self._partitions):
            yield Region(first, 0, int(self._partitions[first].shape[0]), 1)

    def read(self, region: Region) -> np.ndarray:
        tile = self._partitions[region.row].get_macrotile(dest_dtype=self.dtype)
        block = np.asarray(tile if isinstance(tile, np.ndarray) else tile.data)
        return block.reshape(region.rows, 1, *self.detector_shape)


class _Shaped:
    """Shape and number type of frames that are read otherwise."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape, self.dtype = shape, dtype

    def __getitem__(self, index: Any) -> Any:
        raise IndexError("read by partitions")


def from_libertem(dataset: Any, *, session: Session | None = None, progress: Progress = None, **rows: Any) -> Acquisition:
    """An acquisition from LiberTEM: a DataSet of Context.load, partition by partition, or an array [ny, nx, sy, sx].

    Parameters
    ----------
    dataset : libertem DataSet, or array-like
        It carries no optics; give them.
    **rows
        As of Acquisition, for arrays: energy (kV), semiangle (mrad), step (Å), ...

    Raises ArgumentError and DataError as Acquisition does.
    """
    if not callable(getattr(dataset, "get_partitions", None)):
        return Acquisition(dataset, session=session, progress=progress, **rows)
    given = dict(rows)
    shape = given.pop("scan_shape", None)
    frames = _Partitions(dataset, tuple(shape) if shape is not None else None)
    return Acquisition(frames, session=session, progress=progress, **given)
