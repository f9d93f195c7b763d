"""The engine that napari's settings ask for: backend, threads, memory. No Qt."""

from __future__ import annotations

import json
import threading
from typing import Any

import sideband

from ._catalog import session_groups
from ._task import behind

PLUGIN = "napari-sideband"
_lock = threading.Lock()
_kept: tuple[str, sideband.Session] | None = None


def engine() -> dict[str, Any]:
    """What the settings give beyond the library's defaults; {} where napari has no settings of plugins."""
    try:
        from napari.settings import get_plugin_settings

        settings = get_plugin_settings(PLUGIN)
    except (ImportError, KeyError):
        return {}
    given: dict[str, Any] = {}
    for group in session_groups():
        for row in group.rows:
            value = getattr(getattr(settings, group.name, None), row.name, None)
            if value is None or value == row.default or (row.default is None and value in (0, "")):
                continue  # 0 or nothing stands for "not given" where the row has no default
            given[row.name] = value
    return given


def session() -> sideband.Session:
    """The one session of napari; a new one after the settings changed. What runs on the old one goes on."""
    global _kept
    given = engine()
    key = json.dumps(given, sort_keys=True)
    with _lock:
        if _kept is None or _kept[0] != key:
            _kept = (key, behind(sideband.Session, **given))
        return _kept[1]
