#!/usr/bin/env python3
"""What `./run demo` shows a visitor, against the truth of the simulation, and how long a default run takes. Arguments: the
command, the script run, examples/acquisitions, the sanitizers it was built with."""
import json
import math
import os
import re
import resource
import struct
import subprocess
import sys
import tempfile
import time

import tap

COMMAND, SCRIPT, ACQUISITIONS = map(os.path.abspath, sys.argv[1:4])
FOLDER = tempfile.TemporaryDirectory(prefix="sideband-demo-")
ELECTRON, LIGHT, PLANCK, MASS = 1.602176634e-19, 299792458.0, 6.62607015e-34, 9.1093837015e-31


def truth():
    """C10 in nm, tilt in mrad, from the file beside the acquisition (rad at the aperture's edge, rad)."""
    with open(os.path.join(ACQUISITIONS, "columns.json"), encoding="utf-8") as file:
        made = json.load(file)
    energy = made["energy_kV"] * 1e3 * ELECTRON
    wavelength = PLANCK * LIGHT / math.sqrt(energy * (energy + 2 * MASS * LIGHT ** 2)) * 1e9
    edge = 2 * math.pi / wavelength * (made["semiangle_mrad"] * 1e-3) ** 2 / 2
    return {"C10": made["truth"]["C10"] / edge, "tilt_row": made["truth"]["tilt_row"] * 1e3,
            "tilt_col": made["truth"]["tilt_col"] * 1e3}


def demo():
    """The very line of the script, run once: (stdout, the numbers of its JSON file)."""
    if not hasattr(demo, "done"):
        with open(SCRIPT, encoding="utf-8") as file:
            words = re.search(r'sideband" run examples/acquisitions/(\S+)((?: --[a-z]+ [0-9.]+)*) ', file.read())
        assert words, "the script does not run the demo any more"
        done = subprocess.run([COMMAND, "run", os.path.join(ACQUISITIONS, words[1]), *words[2].split(), "--output",
                               FOLDER.name + "/"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=400)
        assert done.returncode == 0, done.stderr
        with open(os.path.join(FOLDER.name, "columns_fit.json"), encoding="utf-8") as file:
            demo.done = done.stdout, json.load(file)
    return demo.done


def test_the_table_shows_the_truth():
    table, info = demo()
    for name, within, unit in (("C10", 0.1, "nm"), ("tilt_row", 0.6, "mrad"), ("tilt_col", 0.6, "mrad")):
        line = re.search(r"^%s +(-?[0-9.]+) \u00b1 ([0-9.]+) +%s\b" % (name, unit), table, re.M)
        assert line, (name, table)
        value, error, true = float(line[1]), float(line[2]), truth()[name]
        print("# %s = %s \u00b1 %s %s, truth %.4g" % (name, line[1], line[2], unit, true))
        assert 0 < error < within, (name, error)
        assert abs(value - true) <= within, (name, value, true)
        assert abs(value - info["values"][name]["value"]) <= error, (name, line[0])


def test_every_value_has_its_error():
    table, info = demo()
    assert len(info["values"]) >= 27, list(info["values"])
    for name, entry in info["values"].items():
        assert entry["error"] > 0 and math.isfinite(entry["value"]), (name, entry)
        assert re.search(r"^%s +-?[0-9.]+ \u00b1 [0-9.]+ " % name, table, re.M), name


def test_the_picture_is_there():
    _, info = demo()
    path = os.path.join(FOLDER.name, "columns_phase.png")
    assert os.path.realpath(path) in map(os.path.realpath, info["files"])
    with open(path, "rb") as file:
        head = file.read(24)
    cols, rows = struct.unpack(">II", head[16:])
    assert head[:8] == b"\x89PNG\r\n\x1a\n" and cols >= 150 and rows >= 150 and os.path.getsize(path) > 10000


def test_a_default_run_of_film_takes_ten_seconds():
    """On 2 cores. Processor seconds are what it needs whatever else runs here; the clock counts where nothing else does."""
    if sys.argv[4] != "none":
        raise tap.Skip("sanitizers slow it down")
    idle = os.getloadavg()[0] < 0.5 * (os.cpu_count() or 1)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([COMMAND, "run", os.path.join(ACQUISITIONS, "film_master.h5"), "--semiangle", "30", "--threads", "2",
                           "--quiet", "--output", FOLDER.name + "/"], stdin=subprocess.DEVNULL, timeout=400)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - began
    busy = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    print("# %.2f s on the clock, %.2f s of processors, load %.1f" % (wall, busy, os.getloadavg()[0]))
    assert done.returncode == 0
    assert busy <= 10, busy
    assert wall <= 10 or not idle, wall


sys.exit(tap.run(globals()))
