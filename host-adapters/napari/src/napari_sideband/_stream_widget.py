"""Stream: frames are handed over while they arrive, the image is refined, and the end is a command like any other."""

from __future__ import annotations

from typing import Any

from magicgui.widgets import FileEdit
from qtpy.QtCore import QTimer
from qtpy.QtWidgets import QVBoxLayout

from ._feed import FileFeed, LayerFeed
from ._layers import base_name, image_layer
from ._settings import session
from ._source import known_of_array
from ._stream import PATTERN, PHASE, SUM
from ._stream import Stream as Streaming
from ._units import SCAN_UNIT
from ._view import calibrate_layer, frame_for
from ._widget import PREVIEW, CommandWidget, _labelled

_LOOK_MS = 400
TITLE = "Stream acquisition"


class Stream(CommandWidget):
    """Takes a layer that grows, or a file that another program is writing."""

    command_name = "run"

    def __init__(self, napari_viewer: Any) -> None:
        super().__init__(napari_viewer)
        self.stream: Streaming | None = None
        self._from_layer = False
        self.runner.title = TITLE
        self.run_button.setText("Start")
        self.run_button.setToolTip("Takes frames until the scan is complete; Cancel ends it at any time.")
        self.looks = QTimer(self)
        self.looks.setInterval(_LOOK_MS)
        self.looks.timeout.connect(self._look)
        self.looks_drawn = 0

    def _build_preview(self, box: QVBoxLayout) -> None:
        self.file = FileEdit(name="file", mode="r", nullable=True)
        self.file.tooltip = "A raw or .npy file that is being written; without one the layer is taken."
        box.insertWidget(1, _labelled("Growing file", self.file.native))
        self.more_button.setChecked(True)

    def _feed(self) -> tuple[Any, str, dict[str, Any]]:
        path = self.file.value
        opening = self.model.opening()
        if path is not None and str(path) not in ("", "."):
            return FileFeed(str(path), opening), base_name(str(path)), {}
        layer = self.model.layer
        if layer is None:
            raise ValueError("Choose a layer that frames arrive in, or a file that is being written.")
        return LayerFeed(layer), base_name(layer.name), known_of_array(layer)

    def run(self) -> None:
        """Starts the stream."""
        if self.runner.running:
            return
        try:
            feed, base, known = self._feed()
            named = {row.name for row in self.command.rows()}
            parameters = {name: value for name, value in known.items() if name in named}
            parameters.update(self.model.parameters(self.command.name))
            self.stream = Streaming(session(), feed, self.command.name, self.model.opening(), parameters)
        except (ValueError, OSError) as problem:
            self._fail(problem)
            return
        self._say("")
        self.run_button.setEnabled(False)
        self.looks_drawn = 0
        self._from_layer = isinstance(feed, LayerFeed)
        layer = self.model.layer if self._from_layer else None
        self.runner.run(self.stream.work, lambda outcome: self._take(outcome, layer, base), self._ended)
        self.looks.start()

    def _ended(self) -> None:
        self.looks.stop()
        self._look()
        self.stream = None
        self.run_button.setEnabled(True)

    def _look(self) -> None:
        """The pattern and the image of what has arrived."""
        if self.stream is None:
            return
        pattern = self.stream.take_look(PATTERN)
        if pattern is not None:
            self.picture.show_pixels(pattern)
        image, step = self.stream.take_look(PHASE, SUM), _step_nm(self.stream.step)
        if image is None:
            return
        self.looks_drawn += 1
        if step is None:
            self.picture.show_pixels(image)
            return
        # as an entry of a result's "arrays"
        array = {"name": PREVIEW, "unit": "", "step": step, "axis_unit": [SCAN_UNIT, SCAN_UNIT]}
        layer = self.model.layer if self._from_layer else None
        if layer is not None:
            calibrate_layer(layer, {"acquisition": {"step": [10 * s for s in step]}})
        self._draw_image(image_layer(array, image, {}, frame_for(self.viewer, layer), PREVIEW))


def _step_nm(step: Any) -> list[float] | None:
    """A scan step in angstrom, one number, two or their text, as (row, col) in nm."""
    if step is None:
        return None
    parts = step if isinstance(step, (list, tuple)) else str(step).split(",")
    try:
        steps = [float(part) for part in parts]
    except (TypeError, ValueError):
        return None
    return [steps[0] / 10, steps[-1] / 10]
