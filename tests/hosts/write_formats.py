#!/usr/bin/env python3
"""Files of other programs and ours: write_formats.py LIBSIDEBAND SHARED

Files written by rosettasciio, mrcfile, NumPy and (DM4) here are read by Sideband through its C ABI, and by their own
readers or ncempy; every number must agree. So must those of the makers' files in SHARED, where it is there. The readers
are no dependencies of ours: what cannot be imported is skipped.
"""
import ctypes
import json
import logging
import os
import re
import struct
import sys
import tempfile
import warnings
import zipfile

import tap

try:
    import numpy as np
except ImportError as absent:
    print("1..0 # SKIP %s" % absent)
    sys.exit(0)

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
folder = tempfile.TemporaryDirectory()
shared = sys.argv[2]
random = np.random.default_rng(7)


class View(ctypes.Structure):
    """sb_view of sideband.h."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("dtype", ctypes.c_int32), ("n_dims", ctypes.c_int32),
                ("shape", ctypes.c_int64 * 4), ("strides", ctypes.c_int64 * 4), ("data", ctypes.c_void_p)]


lib = ctypes.CDLL(sys.argv[1])
lib.sb_error_message.restype = lib.sb_data_info.restype = ctypes.c_char_p
lib.sb_data_info.argtypes = lib.sb_data_free.argtypes = [ctypes.c_void_p]
lib.sb_data_frames.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(View)]
lib.sb_data_open.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
quiet = LOG(lambda level, message, user: None)
lib.sb_log_set.argtypes = [LOG, ctypes.c_void_p]
lib.sb_log_set(quiet, None)
session = ctypes.c_void_p()
assert lib.sb_session_new(ctypes.byref(session), None) == 0, lib.sb_error_message()
DTYPES = ["uint8", "uint16", "uint32", "int16", "int32", "float32", "float64"]


def ours(path, scan_shape=None):
    """The acquisition's info and its frames [frame, row, col] as Sideband reads them."""
    data = ctypes.c_void_p()
    options = json.dumps({"scan_shape": list(scan_shape)} if scan_shape is not None else {}).encode()
    assert lib.sb_data_open(ctypes.byref(data), session, os.fsencode(path), options) == 0, lib.sb_error_message()
    try:
        info = json.loads(lib.sb_data_info(data))["acquisition"]
        frames = np.zeros((info["frames"], *info["detector_shape"]), info["dtype"])
        view = View(ctypes.sizeof(View), DTYPES.index(info["dtype"]), 3, (ctypes.c_int64 * 4)(*frames.shape),
                    (ctypes.c_int64 * 4)(), frames.ctypes.data)
        assert lib.sb_data_frames(data, 0, len(frames), ctypes.byref(view)) == 0, lib.sb_error_message()
        return info, frames
    finally:
        lib.sb_data_free(data)


def need(name):
    """The module of that name, or the test is skipped."""
    try:
        module = __import__(name)
        for part in name.split(".")[1:]:
            module = getattr(module, part)
        return module
    except ImportError as absent:
        raise tap.Skip(absent) from None


def sample(*names):
    """A file of the samples, or the test is skipped."""
    path = os.path.join(shared, "samples", *names)
    if not os.path.exists(path):
        raise tap.Skip("further reference data (SB_SHARED) are not there")
    return path


def same(mine, theirs):
    """Whether all frames agree, number for number."""
    theirs = np.asarray(theirs)
    assert mine.size == theirs.size, (mine.shape, theirs.shape)
    assert np.array_equal(mine.ravel().astype(float), theirs.ravel().astype(float), equal_nan=True)


def in_folder(name):
    return os.path.join(folder.name, name)


def merlin_files():
    """Every .mib of the samples' archives, unpacked."""
    sample("mib")
    for archive in sorted(os.listdir(sample("mib"))):
        if not archive.endswith(".zip"):
            continue
        with zipfile.ZipFile(sample("mib", archive)) as packed:
            names = [n for n in packed.namelist() if re.search(r"\.(mib|hdr)$", n) and "/._" not in n and "MACOSX" not in n]
            for name in names:
                packed.extract(name, in_folder("mib"))
            yield from (in_folder(os.path.join("mib", n)) for n in sorted(names) if n.endswith(".mib"))


def shape_for(path):
    """A scan shape that one row has, from the number of frames in a Merlin file's name."""
    found = re.search(r"_(\d)_Frame", path)
    return (1, int(found[1])) if found else None if "hot_pixel" in path else (2, 4)


def test_merlin_files_as_rosettasciio_reads_them():
    reader = need("rsciio.quantumdetector")
    seen = 0
    for path in merlin_files():
        if "RAW" in path:
            continue
        _, mine = ours(path, shape_for(path))
        theirs = np.asarray(reader.file_reader(path)[0]["data"])
        same(mine, theirs[..., ::-1, :])  # it turns the rows over
        seen += 1
    assert seen == 84, seen


def test_merlin_raw_files_look_like_their_processed_twins():
    checked = 0
    for path in merlin_files():
        if "RAW" not in path or "_9_Frame" not in path:
            continue
        _, raw = ours(path, (1, 9))
        _, plain = ours(path.replace("RAW", ""), (1, 9))
        assert raw.shape == plain.shape
        blocks = [x.sum(0, dtype=float).reshape(x.shape[1] // 8, 8, -1, 8).sum((1, 3)) for x in (raw, plain)]
        right = np.corrcoef(blocks[0].ravel(), blocks[1].ravel())[0, 1]
        turned = np.corrcoef(blocks[0][::-1, ::-1].ravel(), blocks[1].ravel())[0, 1]
        assert right > 0.9 and right > turned + 0.05, (path, right, turned)
        checked += 1
    assert checked == 10, checked


def test_empad_as_rosettasciio_reads_it():
    reader = need("rsciio.empad")
    for xml, raw, frames in (("map4x4.xml", "scan_x4_y4.raw", 16),
                             ("EMPAD_v1.2.2_x32_y64_size0.8.xml", "scan_x32_y64.raw", 2048)):
        with open(sample("empad", xml), "rb") as file, open(in_folder(xml), "wb") as copy:
            copy.write(file.read())
        values = random.normal(100, 40, (frames, 130, 128)).astype("<f4")
        values[1, 5, 7] = np.nan
        values.tofile(in_folder(raw))
        info, mine = ours(in_folder(xml))
        theirs = reader.file_reader(in_folder(xml))[0]["data"]
        assert info["scan_shape"] == list(theirs.shape[:2])
        same(mine, theirs)
        os.remove(in_folder(raw))


def hyperspy_signal(data, units):
    """What rosettasciio's writers take: a dictionary of the data and its axes."""
    axes = [{"size": size, "index_in_array": i, "name": "yxdc"[i], "scale": 1.0, "offset": 0.0, "units": units[i],
             "navigate": i < 2} for i, size in enumerate(data.shape)]
    return {"data": data, "axes": axes, "metadata": {"General": {}, "Signal": {}}, "original_metadata": {},
            "attributes": {"_lazy": False}}


def test_blockfiles_of_rosettasciio():
    writer = need("rsciio.blockfile")
    data = random.integers(0, 256, (4, 3, 16, 16), dtype="u1")
    writer.file_writer(in_folder("x.blo"), hyperspy_signal(data, ["nm", "nm", "cm", "cm"]), navigator=None,
                       show_progressbar=False)
    info, mine = ours(in_folder("x.blo"))
    assert info["scan_shape"] == [4, 3] and info["step"] == [10, 10], info
    same(mine, data)


def test_tvips_of_rosettasciio():
    writer = need("rsciio.tvips")
    for dtype in ("u1", "u2"):
        data = random.integers(0, np.iinfo(dtype).max, (5, 4, 8, 6), dtype=dtype)
        writer.file_writer(in_folder("x_000.tvips"), hyperspy_signal(data, ["nm", "nm", "1/nm", "1/nm"]),
                           max_file_size=900, show_progressbar=False)
        info, mine = ours(in_folder("x_000.tvips"), (5, 4))
        assert len(info["files"]) > 1
        same(mine, data)


def test_mrc_of_mrcfile():
    writer = need("mrcfile")
    for dtype in ("i1", "i2", "u2", "f4", "f2"):
        data = random.integers(0, 120, (12, 7, 9)).astype(dtype)
        for order in "<>":
            with writer.new(in_folder("x.mrc"), overwrite=True) as file:
                file.set_data(data)
            if order == ">":  # mrcfile writes the order of the machine
                with open(in_folder("x.mrc"), "r+b") as file:
                    head = bytearray(np.frombuffer(file.read(1024), "<i4").astype(">i4").tobytes())
                    head[208:216] = b"MAP \x11\x11\0\0"
                    file.seek(0)
                    file.write(head + data.astype(data.dtype.newbyteorder(">")).tobytes())
            _, mine = ours(in_folder("x.mrc"), (3, 4))
            with writer.open(in_folder("x.mrc")) as file:
                same(mine, file.data)
                same(mine, data)


def test_zip_files_of_numpy_and_swift():
    data = random.integers(0, 60000, (3, 4, 6, 5), dtype="u2")
    np.savez(in_folder("x.npz"), data)
    same(ours(in_folder("x.npz"))[1], data)
    np.save(in_folder("data.npy"), data)
    with zipfile.ZipFile(in_folder("x.ndata"), "w", zipfile.ZIP_STORED) as file:
        file.write(in_folder("data.npy"), "data.npy")
        file.writestr("metadata.json", json.dumps({
            "dimensional_calibrations": [{"offset": 0.0, "scale": s, "units": u} for s, u in
                                         ((0.02, "nm"), (0.03, "nm"), (0.0005, "rad"), (0.0005, "rad"))],
            "metadata": {"instrument": {"high_tension": 200000.0}}}))
    info, mine = ours(in_folder("x.ndata"))
    same(mine, data)
    assert info["energy"] == 200 and np.allclose(info["step"], [0.2, 0.3]) and np.isclose(info["sampling"], 0.5)
    np.savez_compressed(in_folder("packed.npz"), data)
    try:
        ours(in_folder("packed.npz"))
        assert False, "compressed"
    except AssertionError as refused:
        assert "compressed: save it with numpy.savez" in str(refused)


def dm4(root):
    """The bytes of a DM4 file: dictionaries and lists are groups, arrays and numbers data."""
    kinds = {"i2": 2, "i4": 3, "u2": 4, "u4": 5, "f4": 6, "f8": 7, "u1": 10}

    def body(value):
        if isinstance(value, (dict, list)):
            pairs = list(value.items()) if isinstance(value, dict) else [("", v) for v in value]
            return struct.pack(">BBQ", 1, 0, len(pairs)) + b"".join(tag(*pair) for pair in pairs)
        if isinstance(value, str):
            value = np.frombuffer(value.encode("utf-16-le"), "<u2")
        if isinstance(value, np.ndarray):
            return b"%%%%" + struct.pack(">QQQQ", 3, 20, kinds[value.dtype.str[1:]], value.size) + value.tobytes()
        value = np.float32(value) if isinstance(value, float) else np.uint32(value)
        return b"%%%%" + struct.pack(">QQ", 1, kinds[value.dtype.str[1:]]) + value.tobytes()

    def tag(label, value):
        inside = body(value)
        return struct.pack(">BH", 20 if isinstance(value, (dict, list)) else 21, len(label)) + label.encode() + struct.pack(
            ">Q", len(inside)) + inside

    whole = body(root)
    return struct.pack(">IQI", 4, len(whole), 1) + whole + bytes(8)


def dm_image(data, dm_type, units):
    """An entry of ImageList; the first axis of DM is the last of data."""
    axes = [{"Origin": 0.0, "Scale": 0.5, "Units": unit} for unit in units[::-1]]
    return {"ImageData": {"Calibrations": {"Dimension": axes}, "Data": data.ravel(), "DataType": dm_type,
                          "Dimensions": [int(n) for n in data.shape[::-1]], "PixelDepth": data.itemsize}}


def test_dm4_as_ncempy_reads_it():
    reader = need("ncempy.io.dm")
    thumbnail = dm_image(np.zeros((4, 4), "u4"), 23, ["", ""])
    for dtype, kind in (("u1", 6), ("<i2", 1), ("<u2", 10), ("<i4", 7), ("<u4", 11), ("<f4", 2), ("<f8", 12)):
        data = random.integers(0, 100, (3, 4, 6, 5)).astype(dtype)
        for scan_first in (False, True):
            stored = np.ascontiguousarray(data.transpose(2, 3, 0, 1)) if scan_first else data
            units = ["1/nm", "1/nm", "nm", "nm"] if scan_first else ["nm", "nm", "1/nm", "1/nm"]
            with open(in_folder("x.dm4"), "wb") as file:
                file.write(dm4({"ImageList": [thumbnail, dm_image(stored, kind, units)]}))
            with reader.fileDM(in_folder("x.dm4"), on_memory=False) as file:
                theirs = file.getDataset(0)["data"]
            info, mine = ours(in_folder("x.dm4"))
            assert info["scan_shape"] == [3, 4] and info["step"] == [5, 5], info
            same(mine, data)
            same(mine, np.transpose(theirs, (2, 3, 0, 1)) if scan_first else theirs)


status = tap.run(dict(globals()))
lib.sb_session_free(session)
folder.cleanup()
sys.exit(status)
