"""The widgets the manifest names: one class a command of the catalog, made when it is asked for."""

from __future__ import annotations

from typing import Any

from ._catalog import commands
from ._open import Open
from ._stream_widget import Stream
from ._widget import CommandWidget

__all__ = ["CommandWidget", "Open", "Stream"]


def __getattr__(name: str) -> Any:
    for command in commands().values():
        if "".join(word.capitalize() for word in command.name.split("_")) == name:
            made = type(name, (CommandWidget,), {"command_name": command.name, "__doc__": command.help,
                                                 "__module__": __name__})
            globals()[name] = made
            return made
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
