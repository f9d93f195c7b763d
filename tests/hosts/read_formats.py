#!/usr/bin/env python3
"""HDF5 files of other programs and ours: read_formats.py LIBSIDEBAND SHARED

What h5py with hdf5plugin's filters, rosettasciio and emdfile write is read by Sideband through its C ABI, and the
makers' files in SHARED are read by rosettasciio, ncempy and h5py as well; every number must agree. None of them is a
dependency of ours: what cannot be imported is skipped."""
import logging
import os
import sys
import tempfile
import warnings

try:
    import h5py
    import numpy as np
except ImportError as absent:
    print("1..0 # SKIP %s" % absent)
    sys.exit(0)

import sb_frames
import tap

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
folder = tempfile.TemporaryDirectory()
library = sb_frames.Library(sys.argv[1])
random = np.random.default_rng(7)
COUNTS = random.poisson(3, (4, 5, 40, 36))


def need(name: str):
    """The module of that name, or the test is skipped."""
    try:
        module = __import__(name)
        for part in name.split(".")[1:]:
            module = getattr(module, part)
        return module
    except ImportError as absent:
        raise tap.Skip(absent) from None


def sample(*names: str) -> str:
    """A file of the samples, or the test is skipped."""
    path = os.path.join(sys.argv[2], "samples", *names)
    if not os.path.exists(path):
        raise tap.Skip("further reference data (SB_SHARED) are not there")
    return path


def in_folder(name: str) -> str:
    return os.path.join(folder.name, name)


def same(mine: np.ndarray, theirs) -> None:
    """Whether all frames agree, number for number, and the frames are of one shape."""
    theirs = np.asarray(theirs)
    assert mine.shape[-2:] == theirs.shape[-2:] and mine.size == theirs.size, (mine.shape, theirs.shape)
    assert np.array_equal(mine, theirs.reshape(mine.shape))


def test_filters_of_hdf5plugin():
    plugin = need("hdf5plugin")
    filters = [plugin.Bitshuffle(cname="lz4"), plugin.Bitshuffle(cname="zstd"), plugin.Bitshuffle(cname="none"), plugin.LZ4(),
               plugin.Bitshuffle(nelems=64, cname="zstd"), {"compression": "gzip", "shuffle": True}, {}]
    for dtype in ("u1", "<u2", ">u2", "<u4", ">u4", "<i2", "<f4", ">f8"):
        for number, kept in enumerate(filters):
            for chunks in ((1, 1, 40, 36), (2, 3, 40, 36), (1, 2, 17, 36), (4, 5, 7, 11)):
                path = in_folder("filters.h5")
                with h5py.File(path, "w") as file:
                    file.create_dataset("a/frames", data=COUNTS.astype(dtype), chunks=chunks, **kept)
                info, mine = library.read(path)
                assert info["scan_shape"] == [4, 5] and info["format"] == "hdf5", (info, number)
                same(mine, COUNTS)


def test_masters_of_h5py():
    plugin = need("hdf5plugin")
    frames = COUNTS.reshape(20, 40, 36).astype("<u2")
    with h5py.File(in_folder("m_master.h5"), "w") as master:
        for number in range(3):
            name = "m_data_%06d.h5" % (number + 1)
            part = frames[8 * number:8 * number + 8]
            with h5py.File(in_folder(name), "w") as file:
                data = file.create_dataset("entry/data/data", data=part, chunks=(1, 40, 36), **plugin.Bitshuffle(cname="zstd"))
                data.attrs["image_nr_low"], data.attrs["image_nr_high"] = 8 * number + 1, 8 * number + len(part)
            master["entry/data/data_%06d" % (number + 1)] = h5py.ExternalLink(name, "/entry/data/data")
        master["entry/instrument/detector/detectorSpecific/photon_energy"] = 80e3
    info, mine = library.read(in_folder("m_master.h5"), scan_shape=[4, 5])
    assert info["energy"] == 80 and info["format"] == "arina", info
    same(mine, frames)


def test_virtual_masters_of_h5py():
    frames = random.poisson(3, (20, 3, 40, 36)).astype("<u2")
    layout = h5py.VirtualLayout((20, 3, 40, 36), "<u2")
    for number in range(3):
        part = frames[8 * number:8 * number + 8]
        with h5py.File(in_folder("v_data_%06d.h5" % number), "w") as file:
            file.create_dataset("entry/data/data", data=part, chunks=(1, 1, 40, 36))
        layout[8 * number:8 * number + len(part)] = h5py.VirtualSource("v_data_%06d.h5" % number, "entry/data/data", part.shape)
    with h5py.File(in_folder("v_master.h5"), "w") as master:
        master.create_virtual_dataset("entry/data/data", layout)
        master["entry/data/channel"] = ["threshold_1", "threshold_2", "difference"]
        master["entry/instrument/beam/incident_wavelength"] = 0.0417572
        master["entry/instrument/beam/incident_wavelength"].attrs["units"] = "angstrom"
    for number, name in enumerate(("threshold_1", "threshold_2", "difference")):
        info, mine = library.read(in_folder("v_master.h5"), scan_shape=[4, 5], channel=name)
        assert info["format"] == "nxmx" and abs(info["energy"] - 80) < 0.01, info
        with h5py.File(in_folder("v_master.h5")) as master:
            same(mine, master["entry/data/data"][:, number])


def axes_of(units: str, scale: float) -> list[dict]:
    """rosettasciio's axes of a 4D-STEM scan of 0.4 nm steps."""
    return [{"size": n, "index_in_array": i, "name": name, "scale": 0.4 if i < 2 else scale, "offset": 0.0,
             "units": "nm" if i < 2 else units, "navigate": i < 2, "_type": "UniformDataAxis"}
            for i, (n, name) in enumerate(zip(COUNTS.shape, ("y", "x", "ky", "kx")))]


def test_hspy_and_nexus_of_rosettasciio():
    for writer, name, form in (("rsciio.hspy", "r.hspy", "hdf5"), ("rsciio.nexus", "r.nxs", "nexus")):
        module = need(writer)
        signal = {"data": COUNTS.astype("<u2"), "axes": axes_of("mrad", 1.5), "original_metadata": {},
                  "package_info": {"package": "x", "package_version": "0"},
                  "metadata": {"General": {"title": "x"}, "Signal": {"signal_type": ""},
                               "Acquisition_instrument": {"TEM": {"beam_energy": 200.0}}}, "learning_results": {}, "models": {},
                  "tmp_parameters": {}, "attributes": {"_lazy": False, "ragged": False}}
        path = in_folder(name)
        module.file_writer(path, signal if form == "hdf5" else [signal])
        info, mine = library.read(path)
        assert info["scan_shape"] == [4, 5] and abs(info["step"][0] - 4) < 1e-9, info
        same(mine, np.asarray(module.file_reader(path)[0]["data"]))
        same(mine, COUNTS)


def test_arrays_of_emdfile():
    emdfile = need("emdfile")
    array = emdfile.Array(COUNTS.astype("<f4"), name="cube", dims=[0.4, 0.4, 0.02, 0.02], dim_units=["nm", "nm", "A^-1", "A^-1"])
    emdfile.save(in_folder("e.h5"), array, mode="o")
    info, mine = library.read(in_folder("e.h5"))
    assert info["format"] == "emd" and abs(info["step"][1] - 4) < 1e-9, info
    same(mine, np.asarray(emdfile.read(in_folder("e.h5")).data))
    same(mine, COUNTS)


def test_prismatic_sample():
    path = sample("emd", "Si100_4D.emd")
    for depth in range(2):
        name = "4DSTEM_simulation/data/datacubes/CBED_array_depth%04d/datacube" % depth
        info, mine = library.read(path, dataset=name)
        assert info["energy"] == 100 and info["semiangle"] == 30, info
        with h5py.File(path) as file:
            same(mine, file[name][:])


def test_py4dstem_sample():
    path = sample("emd", "py4DSTEM_size2x3x4x5.h5")
    _, mine = library.read(path)
    with h5py.File(path) as file:
        same(mine, file["datacube_root/datacube/data"][:])


def test_arina_sample_as_rosettasciio_and_ncempy_read_it():
    path = sample("arina_rsciio", "test_00_master.h5")
    need("hdf5plugin")
    info, mine = library.read(path)
    same(mine, np.asarray(need("rsciio.arina").file_reader(path)[0]["data"]))
    with need("ncempy.io.dectris").fileDECTRIS(path) as file:
        same(mine, file.getDataset()["data"])
    assert info["scan_shape"] == [4, 4], info


def test_cases_as_h5py_reads_them():
    need("hdf5plugin")
    for name in ("ok_u16", "ok_u8", "ok_u32", "ok_be16", "ok_lz4", "ok_none", "ok_chunk4", "flyback2", "empty_frame"):
        path = sample("cases", name + "_master.h5")
        _, mine = library.read(path)
        with h5py.File(path) as file:
            same(mine, np.concatenate([file["entry/data"][key][:] for key in sorted(file["entry/data"])]))


status = tap.run(dict(globals()))
library.close()
folder.cleanup()
sys.exit(status)
