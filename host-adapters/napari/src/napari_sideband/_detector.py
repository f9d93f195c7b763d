"""A virtual detector that is drawn and dragged on the diffraction pattern."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from qtpy.QtCore import QTimer, Signal
from qtpy.QtWidgets import QCheckBox, QHBoxLayout, QPushButton, QWidget

from ._layers import KEY, Frame
from ._view import show_plane, unique_name

_LOOK_MS = 80
_numbers = itertools.count()
_folder: tempfile.TemporaryDirectory[str] | None = None


def _mask_file() -> Path:
    """A new name each time: what was read under an old one may be kept by the library."""
    global _folder
    if _folder is None:
        _folder = tempfile.TemporaryDirectory(prefix="sideband-")
    return Path(_folder.name) / f"selection-{next(_numbers)}.npy"


def write_mask(mask: np.ndarray) -> str:
    """A mask [det_row, det_col] of booleans as the file that the library reads; returns its path."""
    path = _mask_file()
    np.save(path, np.ascontiguousarray(mask, np.uint8))
    return str(path)


def disk(shape: tuple[int, int]) -> np.ndarray:
    """Corners of the ellipse a new detector is: a quarter of the pattern, in its middle. [4, 2], pixels."""
    rows, cols = shape
    reach = min(rows, cols) / 8
    middle = ((rows - 1) / 2, (cols - 1) / 2)
    return np.array([[middle[0] + a * reach, middle[1] + b * reach] for a, b in ((-1, -1), (-1, 1), (1, 1), (1, -1))])


class Detector(QWidget):
    """Puts the shape there, and says when it moved."""

    moved = Signal()

    def __init__(self, viewer: Any, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.viewer = viewer
        self.layer: Any = None
        self._shape: tuple[int, int] = (0, 0)
        self._seen: list[np.ndarray] = []
        self.draw_button = QPushButton("Draw detector")
        self.draw_button.setToolTip("Puts a disk on the pattern; drag, resize or replace it, the image follows.")
        self.follow = QCheckBox("Follow")
        self.follow.setChecked(True)
        self.follow.toggled.connect(lambda on: on and self.moved.emit())
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.draw_button)
        layout.addWidget(self.follow)
        self.timer = QTimer(self)
        self.timer.setInterval(_LOOK_MS)
        self.timer.timeout.connect(self._look)

    @property
    def drawn(self) -> bool:
        """Whether there is a shape."""
        return self.layer is not None and self.layer in self.viewer.layers and len(self.layer.data) > 0

    def draw(self, acquisition: Any) -> None:
        """Adds the shape's layer over an acquisition's layer, once."""
        frame = Frame.of(acquisition)
        if frame is None:
            raise ValueError(f'"{acquisition.name}" has no scan axes; a detector is drawn on a layer of four axes.')
        self._shape = frame.shape[2:]
        show_plane(self.viewer, scan=False)
        if not self.drawn:
            self.layer = self.viewer.add_shapes(
                [disk(self._shape)], shape_type="ellipse", name=unique_name(self.viewer, "Sideband detector"),
                scale=frame.scale[2:], translate=frame.translate[2:], units=frame.units[2:], edge_color="yellow",
                face_color=[1, 1, 0, 0.15], edge_width=0.5, metadata={KEY: {"detector": True}})
        self.layer.visible = True
        self.layer.mode = "select"
        self.layer.selected_data = {0}
        self.viewer.layers.selection.active = self.layer
        self.timer.start()

    def mask(self) -> np.ndarray:
        """What lies in the shapes: booleans [det_row, det_col]."""
        return self.layer.to_masks(self._shape).any(axis=0)

    def _look(self) -> None:
        if not self.drawn:
            self.timer.stop()
            return
        now = [np.array(corners) for corners in self.layer.data]
        same = len(now) == len(self._seen) and all(np.array_equal(a, b) for a, b in zip(now, self._seen))
        if not same:
            self._seen = now
            if self.follow.isChecked():
                self.moved.emit()
