"""Fields made from rows of the catalog, bound to the shared model. magicgui only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from magicgui.widgets import CheckBox, ComboBox, Container, FileEdit, LineEdit, Slider, SpinBox
from magicgui.widgets.bases import ValueWidget

from ._catalog import COEFFICIENTS, OUTPUT, Command, Group, Row, show
from ._model import Model, coefficients_text, differs, read_coefficients

_SPIN_MAX = 2**31 - 1
_STEPS = 400  # of a slider; its numbers are steps, as Qt's own end at 2^31


def _tip(row: Row) -> str:
    lines = [row.help]
    if row.minimum is not None and row.maximum is not None:
        lines.append(f"From {row.minimum:g} to {row.maximum:g}{' ' + row.unit if row.unit else ''}.")
    if row.name == COEFFICIENTS:
        lines.append("C10 is the negative of the defocus: an underfocused probe has C10 < 0.")
    return "\n".join(lines)


def _placeholder(row: Row) -> str:
    if row.default is not None:
        return show(row.default)
    return "" if row.type in ("text", "path") else "auto"


def _make(row: Row) -> ValueWidget:
    common = {"name": row.name, "label": row.label, "tooltip": _tip(row)}
    if row.type == "bool":
        return CheckBox(value=bool(row.default), text=row.title, **{**common, "label": ""})
    if row.type == "choice":
        return ComboBox(choices=list(row.choices), value=row.default, **common)
    if row.type == "path":
        return FileEdit(mode="r", nullable=True, **common)
    if row.type == "int" and row.default is not None and row.maximum is not None and row.maximum <= _SPIN_MAX:
        return SpinBox(value=row.default, min=int(row.minimum or 0), max=int(row.maximum), **common)
    edit = LineEdit(**common)
    edit.native.setPlaceholderText(_placeholder(row))
    edit.native.setMinimumWidth(90)
    return edit


class Field:
    """One row's widget. `widget.value` of a line is its text; the model holds the JSON value, or nothing."""

    def __init__(self, row: Row, command: str, model: Model, slides: bool = False) -> None:
        self.row, self.command, self.model = row, command, model
        self.widget = _make(row)
        self.slider: NumberSlider | None = None
        self._busy = False
        if slides and row.slides and isinstance(self.widget, LineEdit):
            self.slider = NumberSlider(*row.shown, _tip(row), self._slid)
        self.show()
        self.widget.changed.connect(self._edited)

    def _read(self) -> Any:
        value = self.widget.value
        if isinstance(self.widget, LineEdit):
            return self.row.read(value)
        if isinstance(self.widget, FileEdit):
            text = "" if value is None else str(value)
            return text if text not in ("", ".") else None
        return differs(self.row, value)

    def _edited(self, _: Any = None) -> None:
        if not self._busy:
            self._give(self._read())

    def _slid(self, value: float) -> None:
        if not self._busy:
            self._give(value)
            self.show()

    def _give(self, value: Any) -> None:
        self._busy = True
        try:
            self.model.set(self.command, self.row.name, value)
        finally:
            self._busy = False

    def show(self) -> None:
        """Shows what the model says."""
        if self._busy:
            return
        self._busy = True
        try:
            value = self.model.value(self.command, self.row.name)
            if isinstance(self.widget, LineEdit):
                if self.row.read(self.widget.value) != value or value is None:
                    self.widget.value = show(value)
            elif isinstance(self.widget, FileEdit):
                self.widget.value = value
            elif value is None or not self.row.choices or value in self.row.choices:
                self.widget.value = self.row.default if value is None else value
            if self.slider is not None and isinstance(value, (int, float)):
                self.slider.show(value)
        finally:
            self._busy = False

    def hint(self, text: str) -> None:
        """What the value is where none is given, in grey."""
        if isinstance(self.widget, LineEdit):
            self.widget.native.setPlaceholderText(text or _placeholder(self.row))


class Form:
    """The rows of a command: `plain` holds those that are always seen, `more` the rarely used, and the output, as
    results are layers here. live: numbers that an image may follow get sliders."""

    def __init__(self, command: Command, model: Model, extra: Iterable[Group] = (), live: bool = False) -> None:
        self.command, self.model, self._live = command, model, live
        self.fields: dict[str, Field] = {}
        self.plain = Container(labels=True)
        self.more = Container(labels=True)
        for box in (self.plain, self.more):
            box.margins = (0, 0, 0, 0)
        for group in (*command.groups, *extra):
            files = any(row.name == OUTPUT for row in group.rows)
            for row in group.rows:
                if row.name not in self.fields:
                    self._add(row, self.more if row.advanced or files else self.plain)
        model.changed.connect(self._changed)

    def _add(self, row: Row, box: Container) -> None:
        field = self.fields[row.name] = Field(row, self.command.name, self.model, self._live)
        box.append(field.widget)
        if field.slider is not None:
            box.append(field.slider.widget)

    def _changed(self, name: str) -> None:
        for field in [self.fields[name]] if name in self.fields else list(self.fields.values()) if not name else []:
            field.show()

    def hints(self, known: dict[str, Any]) -> None:
        """Shows what the layer knows where nothing is given."""
        for name, field in self.fields.items():
            field.hint(f"{show(known[name])}  (layer)" if known.get(name) is not None else "")

    def close(self) -> None:
        """Lets go of the model, which lives longer."""
        self.model.changed.disconnect(self._changed, missing_ok=True)


class NumberSlider:
    """A slider between two numbers of any size."""

    def __init__(self, low: float, high: float, tip: str, moved: Callable[[float], Any]) -> None:
        self.low, self.high = low, high
        self._moved = moved
        self._busy = False
        self.widget = Slider(label="", min=0, max=_STEPS, value=0, readout=False, tooltip=tip)
        self.widget.changed.connect(self._slid)

    def _slid(self, step: int) -> None:
        if not self._busy:
            self._moved(float(f"{self.low + (self.high - self.low) * step / _STEPS:.6g}"))

    def show(self, value: float) -> None:
        """Stands at a number, or at the end beyond which it lies."""
        self._busy = True
        try:
            part = (value - self.low) / (self.high - self.low)
            self.widget.value = round(_STEPS * min(max(part, 0.0), 1.0))
        finally:
            self._busy = False


class CoefficientSliders:
    """A number and a slider for each of the known coefficients; the range follows from value and uncertainty."""

    def __init__(self, command: str, model: Model) -> None:
        self.command, self.model = command, model
        self.box = Container(labels=True)
        self.box.margins = (0, 0, 0, 0)
        self.edits: dict[str, LineEdit] = {}
        self.sliders: dict[str, NumberSlider] = {}
        self._busy = False
        model.changed.connect(self._changed)
        self._changed("")

    def _values(self) -> dict[str, float]:
        return read_coefficients(self.model.value(self.command, COEFFICIENTS) or "")

    def _changed(self, name: str) -> None:
        if self._busy or name not in ("", COEFFICIENTS):
            return
        values = self._values()
        if list(values) != list(self.sliders) or name == "":
            self._rebuild(values)
        self._busy = True
        try:
            for key, value in values.items():
                self.sliders[key].show(value)
                self.edits[key].value = f"{value:.6g}"
        finally:
            self._busy = False

    def _rebuild(self, values: dict[str, float]) -> None:
        self.box.clear()
        self.edits, self.sliders = {}, {}
        for key, value in values.items():
            about = ((self.model.result or {}).get("values") or {}).get(key) or {}
            doubt = max(about.get("error") or 0.0, about.get("spread") or 0.0)
            reach = max(5 * doubt, abs(value), 1e-3)
            unit, tip = about.get("unit", ""), about.get("title", "")
            edit = LineEdit(label="", tooltip=tip)
            edit.max_width = 90
            slider = NumberSlider(value - reach, value + reach, tip, partial(self._give, key))
            edit.changed.connect(partial(self._typed, key))
            self.edits[key], self.sliders[key] = edit, slider
            self.box.append(Container(widgets=[edit, slider.widget], layout="horizontal", labels=False,
                                      label=f"{key} ({unit})" if unit else key))

    def _typed(self, key: str, text: str) -> None:
        try:
            value = float(text)
        except ValueError:
            return
        if not self._busy:
            self._give(key, value, typed=True)

    def _give(self, key: str, value: float, typed: bool = False) -> None:
        """Changes one number; what was not moved keeps all its digits."""
        if self._busy:
            return
        values = self._values()
        values[key] = value
        self._busy = True
        try:
            if typed:
                self.sliders[key].show(value)
            else:
                self.edits[key].value = f"{value:.6g}"
            self.model.set(self.command, COEFFICIENTS, coefficients_text(values))
        finally:
            self._busy = False

    def close(self) -> None:
        """Lets go of the model."""
        self.model.changed.disconnect(self._changed, missing_ok=True)
