"""Rows of the catalog: which keyword belongs where, what a Python value is in JSON, signatures and help."""

from __future__ import annotations

import difflib
import inspect
import json
import keyword
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._errors import ArgumentError
from ._library import catalog

_PYTHON = {"bool": "bool", "int": "int", "double": "float", "choice": "str", "text": "str | Mapping", "path": "path",
           "pair": "float | (row, col)", "shape": "(rows, cols)", "region": "(row, col, rows, cols)"}


def rows_of(groups: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """name -> row of some groups; the first of a name counts."""
    rows: dict[str, Mapping[str, Any]] = {}
    for group in groups:
        for row in group["rows"]:
            rows.setdefault(row["name"], row)
    return rows


def command_of(name: str) -> Mapping[str, Any]:
    """The command of a name; ArgumentError with the nearest one."""
    commands = {command["name"]: command for command in catalog()["commands"]}
    if name in commands:
        return commands[name]
    raise ArgumentError(f'"{name}" is no command; {_nearest(name, commands)}.')


def _nearest(name: str, names: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, list(names), 1, 0)
    return f'the nearest is "{found[0]}"' if found else "there is none"


def python_name(name: str) -> str:
    """A row's name as a keyword argument: from -> from_."""
    return name + "_" if keyword.iskeyword(name) else name


def row_name(name: str) -> str:
    """The row's name of a keyword argument: from_ -> from."""
    return name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name


def split(given: Mapping[str, Any], *owners: Mapping[str, Any], whose: str) -> list[dict[str, Any]]:
    """Each keyword to the first of `owners` (name -> row) that has it; ArgumentError where none has."""
    parts: list[dict[str, Any]] = [{} for _ in owners]
    for key, value in given.items():
        name = row_name(key)
        place = next((i for i, owner in enumerate(owners) if name in owner), None)
        if place is None:
            known = {known: 0 for owner in owners for known in owner}
            raise ArgumentError(f'"{key}" is not a parameter of {whose}; {_nearest(name, known)}.')
        parts[place][name] = value
    return parts


def _named(name: str, value: Any) -> str:
    """{"C10": 5.5, "C12": (0, 10)} as the library reads it: "C10=5.5 C12=0:10"."""
    parts = []
    for key, number in value.items():
        numbers = number if isinstance(number, (tuple, list)) else (number,)
        try:
            parts.append(f"{key}=" + ":".join(repr(float(n)) for n in numbers))
        except (TypeError, ValueError):
            raise ArgumentError(f"{name}[{key!r}] is {number!r}; give a number, or (low, high).") from None
    return " ".join(parts)


def to_json(name: str, value: Any, row: Mapping[str, Any] | None) -> Any:
    """A Python value as JSON has it; the library checks type and range."""
    kind = row["type"] if row is not None else ""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return _named(name, value)
    if isinstance(value, (tuple, list)) and kind == "text":
        return " ".join(str(item) for item in value)
    if isinstance(value, (tuple, list)) and kind == "path":
        return "\n".join(os.fspath(item) for item in value)
    if isinstance(value, (tuple, list)):
        return [to_json(name, item, None) for item in value]
    if kind == "int" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def to_text(given: Mapping[str, Any], rows: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Keywords as the JSON object that the library takes; None is "not given"."""
    plain = {}
    for key, value in given.items():
        if value is None:
            continue
        name = row_name(key)
        plain[name] = to_json(name, value, rows.get(name))
        try:
            json.dumps(plain[name], allow_nan=False)
        except ValueError:
            raise ArgumentError(f"{name} is {value!r}; give a finite number.") from None
        except TypeError:
            raise ArgumentError(f"{name} is of type {type(value).__name__}; give "
                                f"{_PYTHON.get(rows.get(name, {}).get('type', ''), 'a plain value')}.") from None
    try:
        return json.dumps(plain).encode("utf-8")
    except UnicodeEncodeError:
        raise ArgumentError("A name that is no UTF-8 text was given; rename the file.") from None


def help_of(rows: Iterable[Mapping[str, Any]]) -> str:
    """One entry a row: name, type, unit, help, range, choices, default."""
    lines = []
    for row in rows:
        unit = f", {row['unit']}" if row["unit"] else ""
        lines.append(f"{python_name(row['name'])} : {_PYTHON[row['type']]}{unit}")
        about = f"    {row['title']}. {row['help']}"
        if row["choices"]:
            about += f" One of: {', '.join(row['choices'])}."
        if row["min"] is not None and row["max"] is not None:
            about += f" {row['min']:g} to {row['max']:g}."
        about += " Not given by default." if row["default"] is None else f" Default: {row['default']!r}."
        lines.append(about)
    return "\n".join(lines)


def keywords_of(rows: Mapping[str, Mapping[str, Any]]) -> list[inspect.Parameter]:
    """The rows as keyword-only parameters, for a signature."""
    return [inspect.Parameter(python_name(name), inspect.Parameter.KEYWORD_ONLY, default=row["default"])
            for name, row in rows.items()]
