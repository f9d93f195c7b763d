"""Opening acquisitions and results. Headers only: frames are read when they are looked at. No Qt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sideband

from ._frames import Frames
from ._layers import KEY, About, LayerData, acquisition_kwargs, base_name, frame_here, result_layers, step_pair
from ._settings import session

Read = Callable[[Any], list[LayerData]]


def acquisition_layer(path: str, opening: dict[str, Any] | None = None, known: dict[str, Any] | None = None,
                      sampling: float | None = None) -> LayerData:
    """A file as a layer of four axes. `known` are rows that the file does not say, `sampling` is in mrad/pixel."""
    opening = dict(opening or {})
    data = sideband.Acquisition(path, session=session(), **opening)
    facts = data.info["acquisition"]
    shape = (*facts["scan_region"][2:], *facts["detector_shape"])
    stride = facts["scan_shape"][1] + facts["flyback"]
    first = facts["scan_region"][0] * stride + facts["scan_region"][1]
    frames = Frames(data.read, shape, facts["dtype"], first, stride)
    brightest = float(np.max(frames[shape[0] // 2, shape[1] // 2], initial=0))
    about = About({"path": str(Path(path).resolve()), "opening": opening, "known": dict(known or {}),
                   "acquisition": facts}, frames=frames)
    place = acquisition_kwargs(shape, step_pair(facts["step"]), sampling or facts.get("sampling"))
    return frames, {**place, "name": base_name(Path(path).name), "colormap": "gray", "metadata": {KEY: about},
                    "contrast_limits": (0, brightest or 1)}, "image"


def _result_layers(path: str) -> list[LayerData]:
    result = sideband.open_result(path)
    info = result.info
    base = base_name(Path(path).name).removesuffix("_result")
    return result_layers(info, dict(result.arrays), frame_here(), base, result)


def read(path: Any) -> list[LayerData]:
    """An acquisition, or the images of a result."""
    paths = path if isinstance(path, list) else [path]
    layers: list[LayerData] = []
    for one in paths:
        layers += _result_layers(one) if _is_result(one) else [acquisition_layer(one)]
    return layers


def _is_result(path: str) -> bool:
    try:
        sideband.open_result(path)
    except sideband.Error:
        return False
    return True


def get_reader(path: Any) -> Read | None:
    """napari's question: None for what is not ours, without a word, as another plugin may read it. What is ours but
    incomplete is taken, so that its reader can say what is missing."""
    first = path[0] if isinstance(path, list) else path
    if not Path(first).is_file():
        return None
    if _is_result(first):
        return read
    try:
        using = session()
    except sideband.Error:
        return read  # the settings ask for an engine that is not there: the reader says so
    try:
        sideband.Acquisition(first, session=using).close()
    except sideband.FileError:
        return read
    except sideband.Error:
        return None
    return read
