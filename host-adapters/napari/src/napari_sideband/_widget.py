"""The widget of a command: its rows, a run button with progress and cancel, and what came of it."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any
from weakref import ref

from magicgui.widgets import ComboBox
from napari.utils.notifications import show_info
from qtpy.QtCore import Qt, QTimer
from qtpy.QtWidgets import (QApplication, QCheckBox, QFileDialog, QHBoxLayout, QLabel, QPushButton, QScrollArea,
                            QToolButton, QVBoxLayout, QWidget)

from ._catalog import RECONSTRUCT, Command, commands, data_groups
from ._detector import Detector, write_mask
from ._engine import Outcome, keeper_of, work_of
from ._form import CoefficientSliders, Form
from ._layers import LayerData, base_name, result_layers
from ._model import model_of
from ._preview import Follower
from ._runner import Runner, tell
from ._script import script
from ._source import Source, source_of
from ._table import Picture, ValueTable, pattern_picture, table_rows
from ._view import acquisitions, add_layers, calibrate_layer, frame_for, show_plane, shows_scan

_log = logging.getLogger(__name__)
PREVIEW = "Sideband preview"
_WIDTH = 390  # screen pixels that labels and fields need side by side


def _button(text: str, tip: str, action: Any) -> QPushButton:
    button = QPushButton(text)
    button.setToolTip(tip)
    button.clicked.connect(lambda *_: action())
    return button


class CommandWidget(QWidget):
    """Made from a command of the catalog; all of a viewer's share one model."""

    command_name = RECONSTRUCT

    def __init__(self, napari_viewer: Any) -> None:
        super().__init__()
        # the viewer itself: what napari's proxy hands out is a new object each time, and layers are compared here
        self.viewer = getattr(napari_viewer, "__wrapped__", napari_viewer)
        self.command: Command = commands()[self.command_name]
        self.model = model_of(napari_viewer)
        self.keeper = keeper_of(self.model)
        self.form = Form(self.command, self.model, data_groups() if self.command.needs_data else (),
                         live=self.command.name == RECONSTRUCT)
        self.runner = Runner(self.command.title, self)
        self.table, self.picture, self.message = ValueTable(), Picture(), QLabel()
        self.table.setVisible(False)
        self.message.setWordWrap(True)
        self.outcome: Outcome | None = None
        self.sliders: CoefficientSliders | None = None
        self.detector: Detector | None = None
        self.follower: Follower | None = None
        self._preview_layer: Any = lambda: None
        self._layout_timer = QTimer(self)
        self._layout_timer.setSingleShot(True)
        self._layout_timer.timeout.connect(self._scroll_down)
        self._build()
        self._connect()

    # ---- building ----

    def _build(self) -> None:
        inside = QWidget()
        box = QVBoxLayout(inside)
        self.layer_box: ComboBox | None = None
        if self.command.needs_data:
            self.layer_box = ComboBox(name="layer", label="Acquisition", choices=self._choices, nullable=True,
                                      tooltip="A layer with four axes, or a stack of frames with a given scan shape.")
            box.addWidget(_labelled("Acquisition", self.layer_box.native))
        box.addWidget(self.form.plain.native)
        more = QToolButton()
        more.setText("More parameters")
        more.setCheckable(True)
        more.toggled.connect(self.form.more.native.setVisible)
        self.more_button = more
        self.form.more.native.setVisible(False)
        box.addWidget(more)
        box.addWidget(self.form.more.native)
        self.run_button = _button(self.command.title, self.command.help, self.run)
        for widget in (self.run_button, self.runner, self.message):
            box.addWidget(widget)
        self._build_tools(box)
        self._build_preview(box)
        box.addWidget(self.table)
        box.addWidget(self.picture)
        box.addStretch(1)
        scroll = self.scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setWidget(inside)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setMinimumWidth(_WIDTH)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(scroll)

    def _build_preview(self, box: QVBoxLayout) -> None:
        if self.command.mask_rows() is not None:
            self.detector = Detector(self.viewer, self)
            self.detector.draw_button.clicked.connect(lambda *_: self._safely(self._draw_detector))
            box.addWidget(self.detector)
            self.follower = Follower(self._preview_work, self._show_detector, self._say, self)
            self.detector.moved.connect(self.follower.changed)
        elif self.command.name == RECONSTRUCT:
            self.live = QCheckBox("Live preview")
            self.live.setToolTip("The image follows the sliders while they move.")
            box.addWidget(self.live)
            self.sliders = CoefficientSliders(self.command.name, self.model)
            box.addWidget(self.sliders.box.native)
            self.follower = Follower(self._preview_work, self._show_preview, self._say, self)
            self.live.toggled.connect(lambda on: self.follower.changed() if on else self.follower.stop())

    def _build_tools(self, box: QVBoxLayout) -> None:
        row = QHBoxLayout()
        if self.command.needs_data:
            row.addWidget(_button("Scan / pattern", "Draws the scan or the diffraction patterns.", self.toggle_plane))
        row.addWidget(_button("Copy as Python", "A script that does the same without napari.", self.copy_script))
        row.addWidget(_button("Save…", "What is given, as a parameter file that every host reads.", self._ask_save))
        row.addWidget(_button("Load…", "A parameter file, or the JSON of a result.", self._ask_load))
        row.addWidget(_button("Reset", "Forgets every value and the last fit.", self.model.reset))
        box.addLayout(row)

    def _connect(self) -> None:
        events = self.viewer.layers.events
        self._layer_events = [events.inserted, events.removed, events.renamed]
        for event in self._layer_events:
            event.connect(self._layers_changed)
        self.model.layer_changed.connect(self._layer_chosen)
        self.model.changed.connect(self._value_changed)
        if self.layer_box is not None:
            self.layer_box.changed.connect(self._box_changed)
        self._layers_changed()
        # the window may delete us at any time; the model and the viewer live on
        own, form, sliders = ref(self), self.form, self.sliders
        self.destroyed.connect(lambda *_: _let_go(own, form, sliders))

    # ---- the layer ----

    def _choices(self, _: Any = None) -> list[tuple[str, Any]]:
        return [(layer.name, layer) for layer in acquisitions(self.viewer)]

    def _layers_changed(self, _: Any = None) -> None:
        if self.layer_box is None:
            return
        there = [layer for _, layer in self._choices()]
        if self.model.layer not in there:
            fit = [layer for layer in there if layer.ndim == 4] or there
            self.model.layer = fit[-1] if fit else None
        with self.layer_box.changed.blocked():
            self.layer_box.reset_choices()
            self.layer_box.value = self.model.layer
        self._layer_chosen()

    def _box_changed(self, layer: Any) -> None:
        self.model.layer = layer

    def _layer_chosen(self) -> None:
        if self.layer_box is None:
            return
        with suppress(ValueError), self.layer_box.changed.blocked():
            self.layer_box.value = self.model.layer
        try:
            source = source_of(self.model.layer, self.model.opening())
            self.form.hints({**source.facts, **source.known})
        except ValueError:
            self.form.hints({})

    # ---- running ----

    def _work(self, fresh: bool = True) -> tuple[Any, Source | None]:
        opening = self.model.opening() if self.command.needs_data else {}
        source = source_of(self.model.layer, opening) if self.command.needs_data else None
        given = self.model.parameters(self.command.name)
        parameters = source.parameters(self.command.name, given) if source is not None else given
        self._fill_mask(parameters)
        return work_of(self.keeper, self.command.name, source, opening, parameters, fresh), source

    def _fill_mask(self, parameters: dict[str, Any]) -> None:
        if self.detector is None or not self.detector.drawn:
            return
        choice, file = self.command.mask_rows()
        if file.name not in parameters and parameters.get(choice.name, file.name) == file.name:
            parameters.update({choice.name: file.name, file.name: write_mask(self.detector.mask())})

    def run(self) -> None:
        """Starts the command; what it gives comes later, as layers and table."""
        if self.runner.running:
            return
        try:
            work, source = self._work()
        except ValueError as problem:
            self._fail(problem)
            return
        if self.follower is not None:
            self.follower.stop()
        self._say("")
        self.run_button.setEnabled(False)
        layer, base = self.model.layer, source.name if source is not None else self.command.title
        self.runner.run(work, lambda outcome: self._take(outcome, layer, base), self._ended)

    def _ended(self) -> None:
        self.run_button.setEnabled(True)

    def cancel(self) -> None:
        """Stops what runs; the answer comes within half a second."""
        self.runner.cancel()

    def _take(self, outcome: Outcome, layer: Any, base: str) -> None:
        self.outcome = outcome
        info = outcome.info
        if layer is not None and layer in self.viewer.layers:
            calibrate_layer(layer, info)
        frame = frame_for(self.viewer, layer)
        layers = result_layers(info, outcome.arrays, frame, base_name(base), outcome.result)
        if layers:
            self._drop_preview()
            add_layers(self.viewer, layers)
            show_plane(self.viewer, scan=True)
        self._show_outcome(info, outcome)
        if table_rows(info):
            self.model.adopt(info)

    def _show_outcome(self, info: dict[str, Any], outcome: Outcome) -> None:
        self.table.setVisible(bool(table_rows(info)))
        self.table.show_result(info)
        picture = pattern_picture(info, outcome.arrays)
        if picture is not None:
            self.picture.show_pixels(*picture)
        lines = [f"Agreement {info['agreement']:.4f}"] if isinstance(info.get("agreement"), float) else []
        lines += info.get("warnings", []) + [f"{path}" for path in info.get("files", [])]
        self._say("\n".join(lines))
        self._layout_timer.start()  # to be scrolled to once the layout knows how large it is

    def _scroll_down(self) -> None:
        shown = self.table if self.table.rowCount() else self.picture
        self.scroll.ensureWidgetVisible(shown, 0, shown.height())

    # ---- preview ----

    def _value_changed(self, name: str) -> None:
        row = self.form.command.row(name)
        if self.sliders is not None and self.live.isChecked() and (name == "" or (row is not None and row.live)):
            self.follower.changed()
        elif self.detector is not None and self.detector.drawn and row is not None:
            self.follower.changed()

    def _preview_work(self) -> Any:
        if self.runner.running or (self.detector is not None and not self.detector.drawn):
            return None
        return self._work(fresh=False)[0]

    def _show_preview(self, outcome: Outcome) -> None:
        if self.live.isChecked():
            self._draw_preview(outcome)

    def _draw_preview(self, outcome: Outcome) -> None:
        frame = frame_for(self.viewer, self.model.layer)
        if frame is not None and self.model.layer is not None:
            calibrate_layer(self.model.layer, outcome.info)
            frame = frame_for(self.viewer, self.model.layer)
        layers = result_layers(outcome.info, outcome.arrays, frame, PREVIEW)
        if not layers:
            return
        self._draw_image(layers[-1])

    def _draw_image(self, drawn: LayerData) -> None:
        """The one layer of previews, made or brought up to date."""
        data, kwargs, _ = drawn
        layer = self._preview_layer()
        if layer is None or layer not in self.viewer.layers:
            layer = add_layers(self.viewer, [(data, {**kwargs, "name": PREVIEW}, "image")])[0]
            self._preview_layer = ref(layer)
            show_plane(self.viewer, scan=True)
            return
        if tuple(layer.scale) != tuple(kwargs["scale"]):
            layer.scale = kwargs["scale"]
        layer.data = data
        layer.reset_contrast_limits()

    def _drop_preview(self) -> None:
        layer = self._preview_layer()
        if layer is not None and layer in self.viewer.layers:
            self.viewer.layers.remove(layer)

    def _draw_detector(self) -> None:
        self.detector.draw(self.model.layer)

    def _show_detector(self, outcome: Outcome) -> None:
        layers = result_layers(outcome.info, outcome.arrays, None, PREVIEW)
        if layers:
            self.picture.show_pixels(layers[-1][0])

    # ---- tools ----

    def toggle_plane(self) -> None:
        """Between scan and patterns."""
        show_plane(self.viewer, scan=not shows_scan(self.viewer))

    def script_text(self) -> str:
        """The script of what would run now. Raises ValueError with a sentence where nothing can."""
        opening = self.model.opening() if self.command.needs_data else {}
        source = source_of(self.model.layer, opening) if self.command.needs_data else None
        given = self.model.parameters(self.command.name)
        parameters = source.parameters(self.command.name, given) if source is not None else given
        self._fill_mask(parameters)
        return script(self.command.name, source, opening, parameters)

    def copy_script(self) -> None:
        """The script, to the clipboard."""
        self._safely(lambda: (QApplication.clipboard().setText(self.script_text()),
                              show_info("The script is on the clipboard.")))

    def _ask_save(self) -> None:
        path, _ = QFileDialog.getSaveFileName(self, "Save parameters", "", "JSON (*.json)")
        if path:
            self._safely(lambda: self.model.save(path if path.endswith(".json") else path + ".json", self.command.name))

    def _ask_load(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "Load parameters", "", "JSON (*.json);;All files (*)")
        if path:
            self._safely(lambda: self.model.load(path))

    def _safely(self, action: Any) -> None:
        try:
            action()
        except (ValueError, OSError) as problem:
            self._fail(problem)

    def _fail(self, problem: BaseException) -> None:
        self._say(str(problem))
        tell(self.command.title, problem)

    def _say(self, text: str) -> None:
        self.message.setText(text)


def _labelled(text: str, widget: QWidget) -> QWidget:
    holder = QWidget()
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    row.addWidget(QLabel(text))
    row.addWidget(widget, 1)
    return holder


def _let_go(own: Any, form: Form, sliders: CoefficientSliders | None) -> None:
    """After the window deleted a widget: the model and the viewer must not call it any more."""
    form.close()
    if sliders is not None:
        sliders.close()
    widget = own()
    if widget is None:
        return
    widget.model.changed.disconnect(widget._value_changed, missing_ok=True)
    widget.model.layer_changed.disconnect(widget._layer_chosen, missing_ok=True)
    for event in widget._layer_events:
        with suppress(ValueError, TypeError):
            event.disconnect(widget._layers_changed)
