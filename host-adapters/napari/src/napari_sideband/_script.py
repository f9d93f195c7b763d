"""What a widget would do as a script that runs without napari. No Qt."""

from __future__ import annotations

import keyword
from typing import Any

import sideband

from ._settings import engine
from ._source import Source


def _call(arguments: dict[str, Any]) -> str:
    """Keyword arguments as source text; a name that Python has taken gets an underscore."""
    return ", ".join(f"{name}_={value!r}" if keyword.iskeyword(name) else f"{name}={value!r}"
                     for name, value in arguments.items())


def _acquisition(what: str, given: dict[str, Any]) -> str:
    return f"acquisition = sideband.Acquisition({', '.join(filter(None, [what, 'session=session', _call(given)]))})"


def _opening(source: Source, opening: dict[str, Any]) -> list[str]:
    given = {**source.opening, **opening}
    if source.path is not None:
        return [_acquisition(repr(source.path), given)]
    for name in ("detector_shape", "dtype", "header_bytes"):  # an array says these itself
        given.pop(name, None)
    file = source.origin if str(source.origin or "").endswith(".npy") else source.name + ".npy"
    lines = [f"frames = numpy.load({str(file)!r}, mmap_mode='r')"]
    if file != source.origin:
        lines[0] += f"  # the array of the layer {source.name!r}, saved"
    return [*lines, _acquisition("frames", given)]


def _run(command: str, parameters: dict[str, Any]) -> str:
    if hasattr(sideband.Acquisition, command):
        return f"result = acquisition.{command}({_call(parameters)})"
    return f"result = acquisition.start({', '.join(filter(None, [repr(command), _call(parameters)]))}).wait()"


def script(command: str, source: Source | None, opening: dict[str, Any], parameters: dict[str, Any]) -> str:
    """The script of a command; source None: the command needs no data."""
    array = source is not None and source.path is None
    head = [f'"""Written by napari-sideband for Sideband {sideband.__version__}."""', "import numpy" if array else "",
            "import sideband"]
    lines = [*filter(None, head), "", f"session = sideband.Session({_call(engine())})"]
    if source is not None:
        lines += [*_opening(source, opening), _run(command, parameters)]
    else:
        called = ", ".join(filter(None, [repr(command), "session=session", _call(parameters)]))
        lines.append(f"result = sideband.Job({called}).start().wait()")
    return "\n".join([*lines, "for name, value in result.values.items():",
                      "    print(name, value, result.uncertainties.get(name), result.units.get(name))", ""])
