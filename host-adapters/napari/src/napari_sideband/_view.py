"""Switching the viewer between the scan and the diffraction patterns, and putting results into it. No Qt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._layers import KEY, Frame, LayerData, about, step_pair
from ._units import DETECTOR_UNIT, SCAN_UNIT

SCAN_FIRST, DETECTOR_FIRST = (2, 3, 0, 1), (0, 1, 2, 3)  # the last two axes are drawn


def acquisitions(viewer: Any) -> list[Any]:
    """Layers that may be an acquisition: all that we did not make ourselves."""
    return [layer for layer in viewer.layers if "array" not in about(layer) and "detector" not in about(layer)]


def shows_scan(viewer: Any) -> bool:
    """Whether the scan axes are drawn."""
    return viewer.dims.ndim == 4 and tuple(viewer.dims.order) == SCAN_FIRST


def _plane(layer: Any) -> str | None:
    """Which plane a layer of ours belongs to; None: it is none of ours."""
    ours = about(layer)
    if "array" not in ours:
        return "detector" if layer.ndim == 4 or "detector" in ours else None
    return "detector" if layer.data.shape[:2] == (1, 1) and layer.ndim == 4 else "scan"


def show_plane(viewer: Any, scan: bool) -> None:
    """Draws scan or detector axes. What belongs to the other plane is hidden first: an acquisition sliced at one
    detector pixel would be read as a whole, and an image of the scan would cover the pattern."""
    if viewer.dims.ndim != 4:
        return
    wanted = "scan" if scan else "detector"
    for layer in viewer.layers:
        plane = _plane(layer)
        if plane is not None and plane != wanted:
            layer.visible = False
    viewer.dims.order = SCAN_FIRST if scan else DETECTOR_FIRST
    shown = [layer for layer in viewer.layers if _plane(layer) == wanted]
    if not any(layer.visible for layer in shown):
        for layer in shown[-1:] if scan else shown:
            layer.visible = True
    scale_bar(viewer).visible = True
    viewer.reset_view()


def scale_bar(viewer: Any) -> Any:
    """The viewer's scale bar, which moved in napari 0.9."""
    canvas = getattr(viewer, "canvas", None)
    return canvas.overlays.scale_bar if canvas is not None else viewer.scale_bar


def calibrate_layer(layer: Any, info: dict[str, Any]) -> None:
    """Gives an acquisition whose axes are mere pixels the scan step and detector sampling of a result."""
    frame = Frame.of(layer)
    if frame is None:
        return
    step = step_pair(info.get("acquisition", {}).get("step"))
    now = frame.calibrated(step, (info.get("calibration") or {}).get("sampling"))
    if now == frame:
        return
    # one change at a time would leave units that disagree with the scale for a moment; nobody is told before the last
    with layer.events.blocker_all():
        layer.scale = now.scale
    layer.units = now.units
    layer.refresh(extent=True)


def unique_name(viewer: Any, name: str) -> str:
    """The name, with a number where a layer has it already."""
    names = {layer.name for layer in viewer.layers}
    number, free = 2, name
    while free in names:
        free, number = f"{name} [{number}]", number + 1
    return free


def add_layers(viewer: Any, layers: Iterable[LayerData]) -> list[Any]:
    """Adds images beside what is there, never in its place."""
    added = []
    for data, kwargs, _ in layers:
        added.append(viewer.add_image(data, **{**kwargs, "name": unique_name(viewer, kwargs["name"])}))
    return added


def frame_for(viewer: Any, layer: Any) -> Frame | None:
    """The axes that results of a layer get: those of the layer, or of an acquisition of ours that is there."""
    if layer is not None and layer in viewer.layers:
        frame = Frame.of(layer)
        if frame is not None:
            return frame
    return next((Frame.of(other) for other in viewer.layers if KEY in other.metadata and other.ndim == 4), None)


__all__ = ["DETECTOR_UNIT", "SCAN_UNIT", "acquisitions", "add_layers", "calibrate_layer", "frame_for", "show_plane",
           "shows_scan", "unique_name"]
