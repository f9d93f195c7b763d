"""The table of fitted values, and small pictures beside it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from qtpy.QtCore import Qt
from qtpy.QtGui import QColor, QImage, QPainter, QPen, QPixmap
from qtpy.QtWidgets import QAbstractItemView, QHeaderView, QLabel, QSizePolicy, QTableWidget, QTableWidgetItem


def value_text(value: float, doubt: float | None) -> str:
    """ "6.068 ± 0.060": two significant digits of the uncertainty, the value to the same place."""
    if not doubt or not math.isfinite(doubt) or doubt <= 0:
        return f"{value:.6g}"
    digits = 1 - math.floor(math.log10(doubt))
    if round(doubt, digits) >= 10.0 ** (2 - digits):  # 0.0996 becomes 0.10
        digits -= 1
    shown = max(digits, 0)
    return f"{round(value, digits):.{shown}f} ± {round(doubt, digits):.{shown}f}"


def doubt_of(about: dict[str, Any]) -> float | None:
    """The larger of counting noise and spread; None where nothing was fitted."""
    doubts = [about[key] for key in ("error", "spread") if about.get(key) is not None]
    return max(doubts) if doubts else None


def table_rows(info: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Name, value ± uncertainty, unit and meaning of what a result fitted; [] where it fitted nothing."""
    values = info.get("values") or {}
    if all(doubt_of(about) is None for about in values.values()):
        return []
    return [(name, value_text(v["value"], doubt_of(v)), v.get("unit", ""), v.get("title", ""))
            for name, v in values.items()]


class ValueTable(QTableWidget):
    """Value ± uncertainty, unit and meaning; may be selected and copied, not edited."""

    def __init__(self) -> None:
        super().__init__(0, 4)
        self.setHorizontalHeaderLabels(["Name", "Value ± uncertainty", "Unit", "Meaning"])
        self.verticalHeader().setVisible(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setMinimumHeight(180)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.horizontalHeader().setStretchLastSection(True)

    def show_result(self, info: dict[str, Any]) -> None:
        """Fills the table from a result's JSON."""
        rows = table_rows(info)
        self.setRowCount(len(rows))
        for i, row in enumerate(rows):
            for j, text in enumerate(row):
                item = QTableWidgetItem(text)
                if j == 1:
                    item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                item.setToolTip(row[3])
                self.setItem(i, j, item)

    def texts(self) -> list[tuple[str, ...]]:
        """What stands in it."""
        return [tuple(self.item(i, j).text() for j in range(4)) for i in range(self.rowCount())]


def grey(image: np.ndarray) -> np.ndarray:
    """Numbers as 8-bit grey between the darkest and the brightest half per mille."""
    image = np.asarray(image, np.float64)
    good = image[np.isfinite(image)]
    if good.size == 0:
        return np.zeros(image.shape, np.uint8)
    low, high = np.quantile(good, (0.0005, 0.9995))
    return (255 * np.clip((np.nan_to_num(image, nan=low) - low) / ((high - low) or 1.0), 0, 1)).astype(np.uint8)


class Picture(QLabel):
    """An image that keeps its shape as the dock grows; a circle may be drawn on it."""

    def __init__(self, height: int = 220) -> None:
        super().__init__()
        self.setMinimumHeight(height)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.pixels: np.ndarray | None = None
        self._circle: tuple[float, float, float] | None = None
        self.setVisible(False)

    def show_pixels(self, pixels: np.ndarray, circle: tuple[float, float, float] | None = None) -> None:
        """pixels: [rows, cols] numbers, or [rows, cols, 3] of 8 bits. circle: row, col and radius in pixels."""
        self.pixels = np.ascontiguousarray(pixels if pixels.ndim == 3 else grey(pixels))
        self._circle = circle
        self.setVisible(True)
        self._draw()

    def resizeEvent(self, event: Any) -> None:  # noqa: N802 (Qt's name)
        super().resizeEvent(event)
        self._draw()

    def _draw(self) -> None:
        if self.pixels is None:
            return
        rows, cols = self.pixels.shape[:2]
        colour = self.pixels.ndim == 3
        form = QImage.Format.Format_RGB888 if colour else QImage.Format.Format_Grayscale8
        image = QImage(self.pixels.data, cols, rows, self.pixels.strides[0], form)
        scaled = QPixmap.fromImage(image.copy()).scaled(
            max(self.width(), 16), max(self.height(), 16), Qt.AspectRatioMode.KeepAspectRatio,
            Qt.TransformationMode.SmoothTransformation if colour else Qt.TransformationMode.FastTransformation)
        if self._circle is not None:
            self._draw_circle(scaled, scaled.width() / cols)
        self.setPixmap(scaled)

    def _draw_circle(self, pixmap: QPixmap, zoom: float) -> None:
        row, col, radius = (zoom * value for value in self._circle or (0, 0, 0))
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor("yellow"), 1.5))
        half = zoom / 2  # a pixel's number is its centre
        painter.drawEllipse(int(col + half - radius), int(row + half - radius), int(2 * radius), int(2 * radius))
        painter.end()


def pattern_picture(info: dict[str, Any], arrays: dict[str, np.ndarray]) -> tuple[np.ndarray, Any] | None:
    """The picture that proves a calibration: the library's own, else the mean pattern with the disk it found."""
    for array in info.get("arrays", []):
        if len(array["shape"]) == 3 and array["shape"][-1] == 3 and array["name"] in arrays:
            return arrays[array["name"]], None
    shape = info.get("acquisition", {}).get("detector_shape")
    for array in info.get("arrays", []):
        if array["shape"] == shape and array["name"] in arrays:
            found = info.get("calibration", {})
            centre, radius = found.get("centre"), found.get("radius")
            return arrays[array["name"]], (*centre, radius) if centre and radius else None
    return None
