#!/usr/bin/env python3
"""Our files as other programs read them: read_results.py MAKE_RESULT"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib

try:
    import h5py
    import numpy as np
    import tifffile
except ImportError as missing:
    print("1..0 # SKIP %s" % missing)
    sys.exit(0)

import tap

folder = tempfile.TemporaryDirectory()
subprocess.run([sys.argv[1], folder.name], check=True)
phase = ((np.arange(30 * 45, dtype=np.float32) - 600) / np.float32(1000)).reshape(30, 45)


def path(name):
    return os.path.join(folder.name, name)


def test_hdf5_arrays_and_values():
    with h5py.File(path("both_result.h5"), "r") as file:
        assert file.attrs["sideband_version"] and file.attrs["kind"] == b"result", dict(file.attrs)
        assert file["phase"].dtype == np.float32 and np.array_equal(file["phase"][()], phase)
        assert np.array_equal(file["absorption"][()], phase * np.float32(-0.5))
        assert file["phase"].attrs["unit"] == b"rad" and file["phase"].attrs["axis0_unit"] == b"nm"
        assert list(file["phase"].attrs["step"]) == [0.025, 0.0125]
        c10 = file["values/C10"]
        assert c10[()] == 6.068 and c10.attrs["error"] == 0.011 and c10.attrs["spread"] == 0.06 and c10.attrs["unit"] == b"nm"
        assert file["values/phi12"][()] == -0.75 and "error" not in file["values/phi12"].attrs
        assert list(file["calibration/centre"][()]) == [36.0, 36.5] and file["calibration/given_centre"][()]
        assert file["calibration/orientation"][()] == b"identity" and file["coordinates/C10"][()] == 8.7153
        assert json.loads(file["parameters"][()]) == {"semiangle": 30.0}
        info = json.loads(file["info"][()])
    with open(path("both_fit.json"), encoding="utf-8") as file:
        assert info == json.load(file)
    assert info["agreement"] == 0.1 + 0.2
    assert [os.path.exists(name) for name in info["files"]] == [True] * 4


def test_hdf5_nexus():
    with h5py.File(path("both_result.h5"), "r") as file:
        data = file[file.attrs["default"]][file[file.attrs["default"]].attrs["default"]]
        assert data.attrs["NX_class"] == b"NXdata"
        assert np.array_equal(data[data.attrs["signal"]][()], phase)
        y, x = (data[name] for name in data.attrs["axes"])
        assert len(y) == 30 and len(x) == 45 and y.attrs["units"] == b"nm"
        assert np.allclose(y[:2], [0, 0.025]) and np.allclose(x[:2], [0, 0.0125])


def test_hdf5_may_be_edited():
    name = path("both_result.h5")
    with h5py.File(name, "r+") as file:
        file.attrs["note"] = "added by hand"
    with h5py.File(name, "r") as file:
        assert file.attrs["note"] == "added by hand" and np.array_equal(file["phase"][()], phase)


def test_tiff_calibrated():
    with tifffile.TiffFile(path("plain_phase.tif")) as file:
        meta, tags = file.imagej_metadata, file.pages[0].tags
        assert np.array_equal(file.asarray(), phase) and file.pages[0].dtype == np.float32
        assert meta["unit"] == "nm" and meta["Labels"] == "phase (rad)", meta
        assert abs(meta["min"] - np.sort(phase.ravel())[1]) < 1e-6 and abs(meta["max"] - np.sort(phase.ravel())[-2]) < 1e-6
        x, y = tags["XResolution"].value, tags["YResolution"].value
        assert x[0] / x[1] == 80 and y[0] / y[1] == 40 and tags["ResolutionUnit"].value == 1


def test_tiff_two_channels():
    with tifffile.TiffFile(path("both_phase.tif")) as file:
        assert file.series[0].axes == "CYX" and file.imagej_metadata["channels"] == 2
        assert np.array_equal(file.asarray(), np.stack([phase, phase * np.float32(-0.5)]))
        assert file.imagej_metadata["Labels"] == ["phase (rad)", "absorption"]
        first, second = (page.dataoffsets[0] for page in file.pages)
        assert second == first + phase.nbytes  # ImageJ looks for the second page there, whatever its tags say


def read_png(name):
    """The chunks, by the format's own description."""
    with open(path(name), "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, []
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + body)
        chunks.append((kind, body))
        at += 12 + size
    return chunks


def test_png():
    chunks = read_png("plain_phase.png")
    assert chunks[0][0] == b"IHDR" and chunks[-1][0] == b"IEND"
    cols, rows, depth, colour = struct.unpack(">IIBB", chunks[0][1][:10])
    assert (depth, colour) == (8, 0) and cols >= 400 and rows >= 400
    assert len(zlib.decompress(b"".join(body for kind, body in chunks if kind == b"IDAT"))) == rows * (cols + 1)
    texts = {body.split(b"\0")[0]: body for kind, body in chunks if kind in (b"tEXt", b"iTXt")}
    assert texts[b"Software"].startswith(b"Software\0sideband ") and b"0.025 x 0.0125 nm" in texts[b"Description"], texts
    assert dict(chunks)[b"pHYs"] == struct.pack(">IIB", 11811, 11811, 1)


def test_calibration_files():
    cols, rows, depth, colour = struct.unpack(">IIBB", read_png("plain_calibration.png")[0][1][:10])
    assert (rows, cols) == (20, 10) and (depth, colour) == (8, 2)  # a picture with colours
    with h5py.File(path("plain_calibration.h5"), "r") as file:
        assert file.attrs["kind"] == b"calibration" and file["picture"].dtype == np.uint8
        assert np.array_equal(file["picture"][()].ravel(), np.arange(600) % 251)
        assert file["calibration/radius"][()] == 30.5
    with open(path("plain_calibration.json"), encoding="utf-8") as file:
        assert json.load(file)["calibration"]["radius"] == 30.5


sys.exit(tap.run(globals()))
