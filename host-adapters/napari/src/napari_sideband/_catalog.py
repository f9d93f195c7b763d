"""The library's catalog as Python objects. Every widget, check and script is made from these rows; no Qt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sideband

# What this host must know by name; everything else comes from the rows.
RECONSTRUCT = "reconstruct"  # the command whose image follows the sliders
COEFFICIENTS = "coefficients"  # known aberrations, as in "C10=5.5 C12=1.2"
OUTPUT = "output"  # files are written only where it is given

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Row:
    """One parameter: how its text is read and shown. What is allowed, the library says."""

    name: str
    title: str
    unit: str
    help: str
    type: str
    default: Any
    minimum: float | None
    maximum: float | None
    shown: tuple[float | None, float | None]
    choices: tuple[str, ...]
    advanced: bool
    asked: bool
    live: bool

    @classmethod
    def of(cls, row: dict[str, Any]) -> Row:
        """A row of the catalog's JSON."""
        return cls(
            row["name"], row["title"], row["unit"], row["help"], row["type"], row["default"], row["min"], row["max"],
            (row["show_min"], row["show_max"]), tuple(row["choices"]), row["advanced"], row["asked"], row["live"],
        )

    @property
    def label(self) -> str:
        """Title with unit, as in "Rotation (deg)"."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def slides(self) -> bool:
        """Whether a slider makes sense: a number that may change while one looks."""
        return self.live and self.type in ("int", "double") and None not in self.shown

    def read(self, text: str) -> Any:
        """What was typed, as a JSON value; None: not given. What is no number stays a text: the library answers it."""
        text = text.strip()
        free = self.type in ("text", "path", "choice")
        if not text or (text == "auto" and not free):
            return None
        if self.type == "int" and _INTEGER.fullmatch(text):
            return int(text)
        if self.type == "double" and _REAL.fullmatch(text):
            return float(text)
        return text.replace("x", ",") if self.type == "shape" else text


def show(value: Any) -> str:
    """The text that Row.read takes back."""
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return ",".join(show(item) for item in value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


@dataclass(frozen=True)
class Group:
    """Rows under one heading."""

    name: str
    title: str
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, group: dict[str, Any]) -> Group:
        """A group of the catalog's JSON."""
        return cls(group["name"], group["title"], tuple(Row.of(row) for row in group["rows"]))


@dataclass(frozen=True)
class Command:
    """A command and the groups of rows it takes."""

    name: str
    title: str
    help: str
    needs_data: bool
    groups: tuple[Group, ...]

    def rows(self) -> Iterator[Row]:
        """All rows, in the order of the groups."""
        for group in self.groups:
            yield from group.rows

    def row(self, name: str) -> Row | None:
        """The row of that name."""
        return next((row for row in self.rows() if row.name == name), None)

    def mask_rows(self) -> tuple[Row, Row] | None:
        """A choice and the file it asks for, of the same name: what an area drawn on a pattern fills in."""
        for group in self.groups:
            for file in group.rows:
                for choice in group.rows:
                    if file.type == "path" and file.name in choice.choices:
                        return choice, file
        return None


@lru_cache(maxsize=1)
def catalog() -> dict[str, Any]:
    """The catalog's JSON."""
    return sideband.catalog()


@lru_cache(maxsize=1)
def commands() -> dict[str, Command]:
    """Every command by name."""
    return {
        c["name"]: Command(c["name"], c["title"], c["help"], c["needs_data"], tuple(Group.of(g) for g in c["groups"]))
        for c in catalog()["commands"]
    }


@lru_cache(maxsize=1)
def data_groups() -> tuple[Group, ...]:
    """Rows that concern the opening of an acquisition."""
    return tuple(Group.of(group) for group in catalog()["data"])


@lru_cache(maxsize=1)
def session_groups() -> tuple[Group, ...]:
    """Rows that concern the engine: backend, threads, memory."""
    return tuple(Group.of(group) for group in catalog()["session"])


@lru_cache(maxsize=1)
def pushed_rows() -> frozenset[str]:
    """Names of the rows that an acquisition takes whose frames are pushed: opening, and the optics of its looks."""
    return frozenset(row["name"] for group in catalog().get("pushed", ()) for row in group["rows"])


def data_rows() -> dict[str, Row]:
    """The rows of opening, by name; those a command has as well are left to the command."""
    return {row.name: row for group in data_groups() for row in group.rows}
