"""What the widgets of one viewer share: the values of the rows, the layer, the last fit. No Qt.

A value that is not given is not in the model: the library then takes its default, or finds the value itself. What a fit
found is kept apart: the reconstruction takes it as known, a new fit does not.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from psygnal import Signal

from ._catalog import COEFFICIENTS, RECONSTRUCT, Row, commands, data_rows, show


class Model:
    """Values by row name, bound by every form of the viewer."""

    changed = Signal(str)  # the name of a row; "": all may have changed
    layer_changed = Signal()
    fitted = Signal()

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.found: dict[str, Any] = {}
        self.result: dict[str, Any] | None = None  # of the last fit, as its JSON
        self._layer: Any = None

    # ---- values ----

    def _store(self, command: str, name: str) -> dict[str, Any]:
        return self.found if command == RECONSTRUCT and name in self.found else self.values

    def value(self, command: str, name: str) -> Any:
        """The value of a row for a command; None: not given."""
        return self._store(command, name).get(name)

    def set(self, command: str, name: str, value: Any) -> None:
        """Gives a value, or with None takes it back."""
        store = self._store(command, name)
        if store.get(name) == value and type(store.get(name)) is type(value):
            return
        if value is None:
            store.pop(name, None)
        else:
            store[name] = value
        self.changed.emit(name)

    def reset(self) -> None:
        """Forgets every value and the fit."""
        self.values.clear()
        self.found.clear()
        self.result = None
        self.changed.emit("")

    # ---- what crosses to the library ----

    def parameters(self, command: str) -> dict[str, Any]:
        """The given values of a command's own rows."""
        named = ((row.name, self.value(command, row.name)) for row in commands()[command].rows())
        return {name: value for name, value in named if value is not None}

    def opening(self) -> dict[str, Any]:
        """The given values of the rows that concern the opening of the acquisition."""
        return {name: self.values[name] for name in data_rows() if name in self.values}

    # ---- a fit ----

    def adopt(self, info: dict[str, Any]) -> None:
        """Takes calibration and values of a fit's result as known to the reconstruction."""
        target = commands()[RECONSTRUCT]
        found = {
            name: show_list(value)
            for name, value in info.get("calibration", {}).items()
            if value is not None and target.row(name) is not None
        }
        if info.get("values"):
            found[COEFFICIENTS] = coefficients_text({name: v["value"] for name, v in info["values"].items()})
        self.found = found
        self.result = info
        self.changed.emit("")
        self.fitted.emit()

    # ---- files ----

    def save(self, path: str | Path, command: str) -> None:
        """Writes what is given as a parameter file, which every host reads (`params`)."""
        text = json.dumps({**self.opening(), **self.parameters(command)}, indent=2, ensure_ascii=False)
        Path(path).write_text(text + "\n", encoding="utf-8")

    def load(self, path: str | Path) -> None:
        """Reads a parameter file, or the parameters of a result's JSON. Raises ValueError with one sentence."""
        name = Path(path).name
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as problem:
            raise ValueError(f"{name} is no JSON file ({problem}); give one that Sideband saved.") from problem
        if not isinstance(content, dict):
            raise ValueError(f"{name} holds no JSON object; give one that Sideband saved.")
        given = content.get("parameters", content)
        known = {row.name for command in commands().values() for row in command.rows()} | set(data_rows())
        strange = sorted(set(given) - known)
        if strange and "parameters" not in content:
            raise ValueError(f'{name} holds "{strange[0]}", which is no parameter of Sideband; give a parameter file.')
        self.values = {key: show_list(value) for key, value in given.items() if key in known and value is not None}
        self.found = {}
        self.result = None
        if content.get("values"):
            self.adopt(content)
        self.changed.emit("")

    # ---- the layer ----

    @property
    def layer(self) -> Any:
        """The acquisition that commands work on, a layer of the viewer; None: none is chosen."""
        return self._layer

    @layer.setter
    def layer(self, layer: Any) -> None:
        if layer is not self._layer:
            self._layer = layer
            self.layer_changed.emit()


def show_list(value: Any) -> Any:
    """Vectors as the text of their field; everything else as it is."""
    return ",".join(repr(item) for item in value) if isinstance(value, list) else value


def coefficients_text(values: dict[str, float]) -> str:
    """ "C10=5.5 phi12=0.3": digits enough to come back to the same bits."""
    return " ".join(f"{name}={value!r}" for name, value in values.items())


def read_coefficients(text: str) -> dict[str, float]:
    """The numbers in such a text; what cannot be read is left out, the library will say so."""
    values = {}
    for item in str(text or "").replace(",", " ").split():
        name, _, number = item.partition("=")
        try:
            values[name] = float(number)
        except ValueError:
            continue
    return values


def differs(row: Row, value: Any) -> Any:
    """The value, or None where it is what the library takes anyway."""
    return None if value == row.default and type(value) is type(row.default) else value


_models: WeakKeyDictionary[Any, Model] = WeakKeyDictionary()


def model_of(viewer: Any) -> Model:
    """The one model of a viewer; napari hands out proxies, which must not get models of their own."""
    viewer = getattr(viewer, "__wrapped__", viewer)
    if viewer not in _models:
        _models[viewer] = Model()
    return _models[viewer]


__all__ = ["Model", "coefficients_text", "differs", "model_of", "read_coefficients", "show", "show_list"]
