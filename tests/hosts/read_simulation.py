#!/usr/bin/env python3
"""Simulated acquisitions as others see them: read_simulation.py SIDEBAND

h5py reads the files; abTEM, where it is installed, computes the same patterns (it is no dependency of ours)."""
import ctypes
import ctypes.util
import json
import os
import struct
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print("1..0 # SKIP %s" % missing)
    sys.exit(0)

import tap

folder = tempfile.TemporaryDirectory()


def simulate(name, *options):
    done = subprocess.run([sys.argv[1], "simulate", "--energy", "300", "--semiangle", "30", "--json", "--output",
                           os.path.join(folder.name, name), *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def decode(dataset, index, lz4):
    """One bit-shuffled LZ4 chunk, by the filter's description, without our code."""
    _, stored = dataset.id.read_direct_chunk((index, 0, 0))
    size = dataset.dtype.itemsize
    left, block = struct.unpack(">QI", stored[:12])
    at, out = 12, b""
    while left >= 8 * size:
        count = min(block, left // (8 * size) * (8 * size))
        length, = struct.unpack(">I", stored[at:at + 4])
        planes = ctypes.create_string_buffer(count)
        assert lz4.LZ4_decompress_safe(stored[at + 4:at + 4 + length], planes, length, count) == count
        bits = np.unpackbits(np.frombuffer(planes.raw, np.uint8).reshape(8 * size, -1), axis=1, bitorder="little")
        out += np.packbits(bits.T, axis=1, bitorder="little").tobytes()
        at += 4 + length
        left -= count
    return np.frombuffer(out + stored[at:], dataset.dtype).reshape(dataset.shape[1:])


def load_lz4():
    name = ctypes.util.find_library("lz4")
    if name is None:
        raise tap.Skip("liblz4 is not found")
    return ctypes.CDLL(name)


def test_h5py_reads_it():
    info = simulate("film", "--scan-shape", "33,32", "--step", "0.6", "--detector-shape", "33,34", "--thickness", "0.4",
                    "--dose", "2000")
    base = os.path.join(folder.name, "film")
    assert sorted(info["files"]) == sorted(os.path.realpath(base) + end for end in (
        "_master.h5", "_data_000001.h5", "_data_000002.h5", ".h5", ".json", "_truth.npy")), info["files"]
    assert info["truth"] == json.load(open(base + ".json", encoding="utf-8"))
    with h5py.File(base + "_master.h5", "r") as master:
        links = [master["entry/data"].get(name, getlink=True) for name in master["entry/data"]]
        assert [(link.filename, link.path) for link in links] == [
            ("film_data_000001.h5", "/entry/data/data"), ("film_data_000002.h5", "/entry/data/data")]
        first, second = master["entry/data/data_000001"], master["entry/data/data_000002"]
        assert first.shape == (1000, 33, 34) and second.shape == (56, 33, 34) and first.dtype == np.uint16
        assert first.chunks == (1, 33, 34) and second.attrs["image_nr_low"] == 1001 and second.attrs["image_nr_high"] == 1056
        assert first.id.get_create_plist().get_filter(0)[0] == 32008
        detector = master["entry/instrument/detector"]
        assert detector["detectorSpecific/photon_energy"][()] == 300000 and detector["detectorSpecific/ntrigger"][()] == 1056
        assert not detector["detectorSpecific/pixel_mask"][()].any()
        total = [decode(second, i, load_lz4()).sum() for i in range(56)]
        assert abs(np.mean(total) / 2000 - 1) < 0.01 and 15 < np.std(total) < 80, (np.mean(total), np.std(total))
    with h5py.File(base + ".h5", "r") as sidecar:
        attributes = dict(sidecar["STEM Metadata"].attrs)
        assert attributes == {"NumPixelsX": 32, "NumPixelsY": 33, "Pixel Size": 0.06, "High Tension": 300000}, attributes
    image = np.load(base + "_truth.npy")
    assert image.shape == (99, 96) and image.dtype == np.float32 and abs(image.mean()) < 1e-6


def corrected(potential, abtem):
    """abTEM multiplies the atoms' frequencies by k / sin k (k in cycles a pixel) for the size of its pixels, although
    atoms on grid points have none; that is taken off."""
    built = potential.build().compute()
    k = np.hypot(*np.meshgrid(*[np.fft.fftfreq(n) for n in built.array.shape[1:]], indexing="ij"))
    factor = np.sinc(k / np.pi)
    return abtem.PotentialArray(np.fft.ifft2(np.fft.fft2(built.array) * factor).real, slice_thickness=built.slice_thickness,
                                sampling=built.sampling)


def test_abtem_computes_the_same_patterns():
    try:
        import abtem
        import ase
    except ImportError as missing:
        raise tap.Skip(str(missing))
    abtem.config.set({"device": "cpu", "precision": "float64"})
    side, thickness, dz, n, grid = 20.0, 30.0, 2.0, 400, 192
    random = np.random.default_rng(3)
    places = random.random((n, 3)) * [side, side, thickness]
    places[:, :2] = np.round(places[:, :2] / side * grid) % grid * side / grid
    symbols = [("C", "Si", "Au")[2 if i % 120 == 0 else i % 5 == 0] for i in range(n)]
    xyz = os.path.join(folder.name, "atoms.xyz")
    with open(xyz, "w", encoding="utf-8") as file:
        file.write('%d\nLattice="%g 0 0 0 %g 0 0 0 %g"\n' % (n, side, side, thickness))
        file.writelines("%s %.12f %.12f %.12f\n" % (symbol, *place) for symbol, place in zip(symbols, places))
    truth = simulate("atoms", "--specimen", "file", "--atoms", xyz, "--scan-shape", "2,2", "--step", "10,10", "--sampling",
                     "0.98437445034", "--dose", "0", "--coefficients",
                     "C10=4 C12a=1.5 C12b=0.7 C21a=30 C23b=20 C30=1500")["truth"]
    assert truth["simulation"]["grid"] == [grid, grid] and truth["simulation"]["slices"] == 15, truth
    with h5py.File(os.path.join(folder.name, "atoms_master.h5"), "r") as master:
        ours = np.array([decode(master["entry/data/data_000001"], i, load_lz4()) for i in range(4)], float)
    potential = corrected(abtem.Potential(ase.Atoms(symbols, positions=places, cell=[side, side, thickness], pbc=True),
                                          gpts=(grid, grid), slice_thickness=dz, parametrization="kirkland",
                                          projection="infinite"), abtem)
    # Our chi is the probe's at the mid-plane and slices act at their middle; abTEM's act at their entrance.
    probe = abtem.Probe(energy=300e3, semiangle_cutoff=30, soft=False, C10=40 - (thickness - dz) / 2,
                        C12=10 * np.hypot(1.5, 0.7), phi12=np.arctan2(0.7, 1.5) / 2, C21=300, phi21=0, C23=200,
                        phi23=np.pi / 6, C30=15000)
    probe.grid.match(potential)
    scan = abtem.CustomScan(np.array([[10.0 * i, 10.0 * j] for i in range(2) for j in range(2)]))
    theirs = probe.multislice(potential, scan=scan, detectors=abtem.PixelatedDetector(max_angle=None)).compute().array
    middle = theirs.shape[-1] // 2
    theirs = theirs[:, middle - 36:middle + 36, middle - 36:middle + 36]
    ours /= 1e6 * np.pi * 30 ** 2 / 0.98437445034 ** 2
    error = np.abs(ours - theirs).max() / theirs.max()
    print("# largest difference / largest value: %.2e" % error)
    assert error < 1e-3, error


sys.exit(tap.run(globals()))
