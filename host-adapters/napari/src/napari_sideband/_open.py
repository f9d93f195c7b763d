"""Opening a file whose rows must be told: scan shape, raw frames, a part of the scan, an incomplete one."""

from __future__ import annotations

from typing import Any

from magicgui.widgets import FileEdit
from qtpy.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from ._catalog import Command, catalog, data_groups
from ._form import Form
from ._model import Model
from ._reader import acquisition_layer
from ._runner import tell
from ._view import add_layers

TITLE = "Open acquisition"


def file_filter() -> str:
    """The formats the library reads, for a file dialog."""
    suffixes = [f"*.{suffix}" for form in catalog()["formats"] for suffix in form["suffixes"]]
    return f"Acquisitions ({' '.join(dict.fromkeys(suffixes))});;All files (*)"


class Open(QWidget):
    """A file and the rows of opening; they concern this file only, so they are not shared."""

    def __init__(self, napari_viewer: Any) -> None:
        super().__init__()
        self.viewer = napari_viewer
        self.model = Model()
        self.path = FileEdit(name="path", label="File", mode="r", filter=file_filter(), nullable=True)
        groups = tuple(data_groups())
        self.form = Form(Command("open", TITLE, "", True, groups), self.model)
        button = QPushButton("Open")
        button.clicked.connect(lambda *_: self.open())
        self.message = QLabel()
        self.message.setWordWrap(True)
        box = QVBoxLayout(self)
        for widget in (self.path.native, self.form.plain.native, self.form.more.native, button, self.message):
            box.addWidget(widget)
        box.addStretch(1)

    def open(self) -> Any:
        """Adds the layer; None where the file could not be opened, which is said."""
        path = self.path.value
        if path is None or str(path) in ("", "."):
            self.message.setText("Choose a file first.")
            return None
        try:
            layer = acquisition_layer(str(path), self.model.opening())
        except Exception as problem:
            self.message.setText(str(problem))
            tell(TITLE, problem)
            return None
        self.message.setText("\n".join(layer[1]["metadata"]["napari-sideband"]["acquisition"]["warnings"]))
        return add_layers(self.viewer, [layer])[0]
