"""Acquisitions and results as calibrated layers of one viewer. No Qt.

napari compares the units of layers axis by axis from the right and gives them all up where they disagree. So an image
of the scan that stands beside an acquisition [scan_row, scan_col, det_row, det_col] has the same four axes: its pixel is
as large as the whole detector. Alone in a viewer it is a plain image.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._units import DETECTOR_AXES, DETECTOR_UNIT, PIXEL, SCAN_AXES, SCAN_UNIT, factor, measures

KEY = "napari-sideband"  # the one key in a layer's metadata that is ours
LayerData = tuple[Any, dict[str, Any], str]


class About(dict):
    """What a layer's metadata say under KEY: plain JSON, and beside it what cannot be copied."""

    def __init__(self, *args: Any, result: Any = None, frames: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.result = result  # the library's result, for saving
        self.frames = frames

    def __deepcopy__(self, memo: dict[int, Any]) -> About:
        return About(self, result=self.result, frames=self.frames)


@dataclass(frozen=True)
class Frame:
    """Where a viewer's acquisition stands: four axes with shape, scale, units and place."""

    shape: tuple[int, ...]
    scale: tuple[float, ...]
    units: tuple[str, ...]
    translate: tuple[float, ...]

    @classmethod
    def of(cls, layer: Any) -> Frame | None:
        """The frame of an acquisition's layer; None where it has not four axes."""
        if layer is None or layer.ndim != 4:
            return None
        return cls(tuple(int(n) for n in layer.data.shape), tuple(float(s) for s in layer.scale),
                   tuple(str(u) for u in layer.units), tuple(float(t) for t in layer.translate))

    def calibrated(self, step: Any, sampling: float | None) -> Frame:
        """With scan step (Å, row and col) and detector sampling (mrad/pixel) where the axes are mere pixels so far."""
        scale, units = list(self.scale), list(self.units)
        if step is not None:
            for axis in (0, 1):
                if units[axis] == PIXEL:
                    scale[axis], units[axis] = float(step[axis]) * (factor("angstrom", SCAN_UNIT) or 0.1), SCAN_UNIT
        if sampling:
            for axis in (2, 3):
                if units[axis] == PIXEL:
                    scale[axis], units[axis] = float(sampling), DETECTOR_UNIT
        return replace(self, scale=tuple(scale), units=tuple(units))


def acquisition_kwargs(shape: tuple[int, ...], step: Any, sampling: float | None) -> dict[str, Any]:
    """Scale, units and axis labels of an acquisition's layer. step in Å (row, col), sampling in mrad/pixel."""
    frame = Frame(tuple(shape), (1.0,) * 4, (PIXEL,) * 4, (0.0,) * 4).calibrated(step, sampling)
    return {"scale": frame.scale, "units": frame.units, "axis_labels": SCAN_AXES + DETECTOR_AXES}


def step_pair(step: Any) -> tuple[float, float] | None:
    """A scan step as (row, col); None where it is not known."""
    if step is None:
        return None
    pair = step if isinstance(step, (list, tuple)) else [step]
    return (float(pair[0]), float(pair[-1])) if None not in pair else None


def _converted(step: Any, unit: str, frame_unit: str) -> float:
    return float(step) * (factor(unit, frame_unit) if measures(frame_unit, unit) else 1.0)


def _scan_offset(info: dict[str, Any], frame: Frame) -> tuple[float, float]:
    """The first scan point of the part that was used, in world units."""
    region = info.get("parameters", {}).get("scan_region")
    if not isinstance(region, (list, tuple)) or len(region) != 4 or tuple(region[2:]) == frame.shape[:2]:
        return frame.translate[0], frame.translate[1]
    return (frame.translate[0] + region[0] * frame.scale[0], frame.translate[1] + region[1] * frame.scale[1])


def _scan_image(array: dict[str, Any], frame: Frame, info: dict[str, Any]) -> dict[str, Any]:
    """An image of the scan over the whole detector."""
    steps = [_converted(step, array["axis_unit"][-1], unit) for step, unit in zip(array["step"][-2:], frame.units)]
    detector = [n * s for n, s in zip(frame.shape[2:], frame.scale[2:])]
    centre = [t + (n - 1) / 2 * s for t, n, s in zip(frame.translate[2:], frame.shape[2:], frame.scale[2:])]
    return {"scale": (*steps, *detector), "translate": (*_scan_offset(info, frame), *centre), "units": frame.units,
            "axis_labels": SCAN_AXES + DETECTOR_AXES}


def _detector_image(array: dict[str, Any], frame: Frame) -> dict[str, Any]:
    """An image of the detector over the whole scan."""
    steps = [_converted(step, array["axis_unit"][-1], unit) for step, unit in zip(array["step"][-2:], frame.units[2:])]
    scan = [n * s for n, s in zip(frame.shape[:2], frame.scale[:2])]
    centre = [t + (n - 1) / 2 * s for t, n, s in zip(frame.translate[:2], frame.shape[:2], frame.scale[:2])]
    return {"scale": (*scan, *steps), "translate": (*centre, *frame.translate[2:]), "units": frame.units,
            "axis_labels": SCAN_AXES + DETECTOR_AXES}


def is_image(array: dict[str, Any]) -> bool:
    """Whether an entry of a result's "arrays" is an image with a calibrated pixel."""
    steps = array["step"][-2:]
    return len(array["shape"]) >= 2 and all(steps) and array["axis_unit"][-1] in (SCAN_UNIT, DETECTOR_UNIT)


def is_shown(array: dict[str, Any]) -> bool:
    """Whether it becomes a layer unasked: images of the scan."""
    return is_image(array) and not array["detail"] and array["axis_unit"][-1] == SCAN_UNIT


def _flat(array: dict[str, Any]) -> dict[str, Any]:
    unit = array["axis_unit"][-1]
    labels = SCAN_AXES if unit == SCAN_UNIT else DETECTOR_AXES
    return {"scale": tuple(array["step"][-2:]), "units": (unit, unit), "axis_labels": labels}


def image_layer(array: dict[str, Any], pixels: np.ndarray, info: dict[str, Any], frame: Frame | None,
                name: str, result: Any = None) -> LayerData:
    """One 2-D image of a result: array is its entry in "arrays", pixels [rows, cols]."""
    scan = array["axis_unit"][-1] == SCAN_UNIT
    if frame is None:
        place, data = _flat(array), pixels
    elif scan:
        place, data = _scan_image(array, frame, info), pixels[:, :, None, None]
    else:
        place, data = _detector_image(array, frame), pixels[None, None]
    about = About({"array": array["name"], "unit": array["unit"], "info": info}, result=result)
    return data, {**place, "name": name, "colormap": "gray", "metadata": {KEY: about}}, "image"


def result_layers(info: dict[str, Any], pixels: dict[str, np.ndarray], frame: Frame | None, base: str,
                  result: Any = None) -> list[LayerData]:
    """The images of the scan in a result, the main one last and so on top; a stack gives a layer each."""
    layers: list[LayerData] = []
    for array in info.get("arrays", []):
        if not is_shown(array) or array["name"] not in pixels:
            continue
        data = np.asarray(pixels[array["name"]])
        stack = data.reshape(-1, *data.shape[-2:])
        for i, image in enumerate(stack):
            number = f" {i + 1}" if len(stack) > 1 else ""
            layers.append(image_layer(array, image, info, frame, f"{base} {array['title']}{number}", result))
    return layers[::-1]


def about(layer_or_metadata: Any) -> About | dict[str, Any]:
    """What is ours in a layer's metadata; {} where there is nothing."""
    metadata = getattr(layer_or_metadata, "metadata", layer_or_metadata)
    return (metadata or {}).get(KEY) or {}


def base_name(name: str) -> str:
    """How results of an acquisition are named."""
    return name.rsplit("/", 1)[-1].rsplit(".", 1)[0].removesuffix("_master") or name


def frame_here() -> Frame | None:
    """The axes of an acquisition of ours in the viewer that is being used; None: there is none."""
    from napari import current_viewer

    viewer = current_viewer()
    layers = viewer.layers if viewer is not None else ()
    return next((Frame.of(layer) for layer in layers if KEY in layer.metadata and layer.ndim == 4), None)
