"""Saving an image layer so that its calibration stays. No Qt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ._layers import about
from ._units import SCAN_UNIT, factor, measures


def _plane(data: Any, meta: dict[str, Any]) -> tuple[np.ndarray, tuple[float, float], str]:
    """The image behind a layer's axes of length one, its pixel (row, col) and their unit."""
    data = np.asarray(data)
    keep = [axis for axis, n in enumerate(data.shape) if n > 1]
    if len(keep) != 2:
        raise ValueError(f'"{meta.get("name", "The layer")}" has {len(keep)} axes; only two can be saved as TIFF.')
    scale = meta.get("scale") or (1.0,) * data.ndim
    units = [str(unit) for unit in meta.get("units") or ("pixel",) * data.ndim]
    unit = units[keep[1]]
    step = (float(scale[keep[0]]), float(scale[keep[1]]))
    if measures(unit, SCAN_UNIT):
        step = (step[0] * (factor(units[keep[0]], SCAN_UNIT) or 1.0), step[1] * (factor(unit, SCAN_UNIT) or 1.0))
        unit = SCAN_UNIT
    return data.reshape(data.shape[keep[0]], data.shape[keep[1]]), step, unit


def _write_tiff(path: Path, data: Any, meta: dict[str, Any]) -> None:
    import tifffile

    image, step, unit = _plane(data, meta)
    if image.dtype not in (np.uint8, np.uint16, np.float32):
        image = image.astype(np.float32)
    info = about(meta.get("metadata")).get("info")
    metadata: dict[str, Any] = {"unit": unit, "axes": "YX"}
    if info:
        metadata["Info"] = json.dumps(info, ensure_ascii=True)
    waiting = path.with_name(path.name + ".part")
    try:
        tifffile.imwrite(waiting, image, imagej=True, resolution=(1 / step[1], 1 / step[0]), metadata=metadata)
        waiting.replace(path)
    finally:
        waiting.unlink(missing_ok=True)


def write_image(path: str, data: Any, meta: dict[str, Any]) -> list[str]:
    """napari's writer: `.h5` is the whole result the image came from, `.tif` the image as ImageJ reads it."""
    target = Path(path)
    if target.suffix.lower() in (".tif", ".tiff"):
        _write_tiff(target, data, meta)
        return [str(target)]
    result = getattr(about(meta.get("metadata")), "result", None)
    if result is None:
        raise ValueError(f'"{meta.get("name", "The layer")}" is no result of Sideband; save it as .tif.')
    result.save(str(target), "hdf5")
    return [str(target)]
