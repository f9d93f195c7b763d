#!/usr/bin/env python3
"""What an acquisition costs on several ranks: bytes held and sent, and the time of reading, exchange, passes and sums.

Without arguments it prints the tables of docs/mpi.md: 1 to 1024 GPUs (NVIDIA H200) and the same on processor cores.
The tests compare bytes_of with what ranks report. Formulas: docs/mpi.md."""
import math
from dataclasses import dataclass

import numpy as np

LANES = 16
SUPERSET = 1.15  # radius of the pixels that are kept, over the disk's


@dataclass
class Acquisition:
    """scan: points (rows, cols); detector: pixels (rows, cols); step: angstrom; radius: of the disk, pixels; item: bytes of a
    count; energy: kV; semiangle: mrad."""
    name: str
    scan: tuple[int, int]
    detector: tuple[int, int]
    step: tuple[float, float]
    radius: float
    centre: tuple[float, float]
    item: int = 2
    energy: float = 300.0
    semiangle: float = 30.0
    disk_pixels: int = 0

    def __post_init__(self) -> None:
        self.disk_pixels = self.disk_pixels or self.pixels(self.radius)

    @classmethod
    def of_result(cls, info: dict) -> "Acquisition":
        """From the JSON of a result."""
        a, c = info["acquisition"], info["calibration"]
        return cls(a["path"], tuple(a["scan_shape"]), tuple(a["detector_shape"]), tuple(a["step"]), c["radius"],
                   tuple(c["centre"]), int(np.dtype(a["dtype"]).itemsize), a["energy"], a["semiangle"],
                   a["bright_field_pixels"])

    def pixels(self, radius: float) -> int:
        """Detector pixels within a radius of the disk's centre."""
        row = np.arange(self.detector[0])[:, None] - self.centre[0]
        col = np.arange(self.detector[1])[None, :] - self.centre[1]
        return int((row ** 2 + col ** 2 <= radius ** 2).sum())

    @property
    def kept(self) -> int:
        """Pixels whose counts stay: the disk and 15 % more, and one pixel."""
        return self.pixels(SUPERSET * self.radius + 1)

    @property
    def positions(self) -> int:
        return self.scan[0] * self.scan[1]

    @property
    def file_bytes(self) -> float:
        return float(self.positions) * self.detector[0] * self.detector[1] * self.item

    @property
    def k_max(self) -> float:
        """1/angstrom; wavelength by CODATA, relativistic."""
        volts = self.energy * 1e3
        wavelength = 12.264259 / math.sqrt(volts * (1 + 0.97847592e-6 * volts))
        return self.semiangle * 1e-3 / wavelength

    def frequencies(self, upsampling: int = 1) -> int:
        """One of each +-q pair, 0 < |q| < 2 k_max, of the scan repeated so often in frequency."""
        n, m = self.scan[0] * upsampling, self.scan[1] * upsampling
        row = np.fft.fftfreq(n, self.step[0] / upsampling)[:, None]
        col = np.fft.fftfreq(m, self.step[1] / upsampling)[None, :]
        return int((row ** 2 + col ** 2 < (2 * self.k_max) ** 2).sum() // 2)

    @property
    def upsampling(self) -> int:
        """Of method = phase with upsampling = auto."""
        return max(1, math.ceil(max(self.step) * 4 * self.k_max - 1e-12))

    @property
    def g_bytes(self) -> float:
        """Single precision."""
        return self.disk_pixels * math.ceil(self.frequencies() / LANES) * LANES * 8.0


def combined(n: float, ranks: int) -> float:
    """Bytes that a rank sends to add up n numbers: a share to each, then its sum to all."""
    return 2 * 8 * n * (ranks - 1) / ranks


def bytes_of(a: Acquisition, ranks: int) -> dict[str, float]:
    """Mean over the ranks, of a `reconstruct` with the method phase: columns, g, and what each sends, as results report."""
    column = a.positions * a.item
    fine = a.frequencies(a.upsampling)
    sums = 2 * 3 * a.frequencies() + 3 * 3 * fine  # S at two sets of coefficients; the image and two of half the pixels
    return {
        "pixels": a.disk_pixels / ranks,
        "columns": a.kept * column / ranks,
        "g": a.g_bytes / ranks,
        "sent_frames": a.kept * column / ranks * (1 - 1 / ranks),
        "sent_sums": combined(sums, ranks),
    }


# ---- time ----

@dataclass
class Machine:
    """What one rank does a second, and how ranks are connected.

    read: bytes of frames decoded to counts; transform: bytes of G made from counts; value, gradient, hessian: bytes of G that a
    pass goes through; each: seconds that a pass takes however small it is; network: bytes a second that a rank sends beside
    others; latency: seconds of one message; source: bytes a second of the file system, for all ranks together."""
    name: str
    read: float
    transform: float
    value: float
    gradient: float
    hessian: float
    each: float
    network: float
    latency: float
    source: float
    add: float = 5e9  # bytes a second that a processor adds up


# `tests/parity/device.sh FOLDER bench` on an NVIDIA H200, 2026-12-01: G of 9.18 GB in 3.15 ms (value), 9.4 ms (value and gradient),
# 12.4 ms (value, gradient and low-order Hessian), 32 ms (counts to G). Frames are decoded by the rank's processor cores: eight of
# 5.2 GB/s (`bench_decode`). Between machines 25 GB/s a GPU (a 200 Gb/s port each), messages of 5 us, files at 100 GB/s, 40 us a
# pass: assumed, not measured.
H200 = Machine("H200", 8 * 5.2e9, 9.18e9 / 32e-3, 9.18e9 / 3.15e-3, 9.18e9 / (9.4e-3 - 3.15e-3), 9.18e9 / 12.4e-3, 40e-6, 25e9,
               5e-6, 100e9)
# A core with AVX-512 (`bench_decode`, `bench_pairs 3`: the README's table): 5.2 GB/s decoded, 6.3e8 pairs of 8 bytes a second
# (value), 2.2e8 (value and gradient), 1.0e8 (with the low-order Hessian). Messages through the memory of one machine of two busy
# cores, two ranks: measured, 0.44 GB/s in pieces of 16 MB, 140 us (docs/mpi.md). 0.5 GB/s of G made from counts, 20 us a pass and
# files at 5 GB/s: assumed.
CORE = Machine("core", 5.2e9, 0.5e9, 8 * 6.3e8, 8 / (1 / 2.2e8 - 1 / 6.3e8), 8 * 1.0e8, 20e-6, 0.44e9, 1.4e-4, 5e9)

# A default fit of the reference acquisition, both kinds of uncertainty, as `bench_fit` counts it: whole passes (halves included),
# and calls, most of them on small parts. What small parts cost beyond their share is not in here: one GPU takes 0.2 s.
FIT = {"value": 3.1, "gradient": 8.4, "hessian": 0.8, "calls": 83}


def reduce_time(n: float, ranks: int, m: Machine) -> float:
    """Two exchanges of n numbers and their sum; each rank posts a message to every other."""
    if ranks == 1:
        return 0.0
    return 2 * (ranks - 1) * m.latency + combined(n, ranks) / m.network + 8 * n / m.add


def share_of(a: Acquisition, ranks: int) -> float:
    """Of the pixels that the fullest rank holds: cuts lie between rows while each has eight of them, then between pixels."""
    rows = 2 * a.radius
    largest = (1 / ranks + 0.5 / rows) if rows >= 8 * ranks else math.ceil(a.disk_pixels / ranks) / a.disk_pixels
    return 1.0 if ranks == 1 else min(1.0, largest)


def times(a: Acquisition, ranks: int, m: Machine) -> dict[str, float]:
    """Seconds of each step; fit: a default fit; total: file to image, one after the other."""
    share, n = share_of(a, ranks), 3 * a.frequencies()
    g = a.g_bytes * share
    one = reduce_time(n, ranks, m)
    t = {
        "read": max(a.file_bytes / ranks / m.read, a.file_bytes / m.source),
        "exchange": bytes_of(a, ranks)["sent_frames"] / m.network + (ranks - 1) * m.latency if ranks > 1 else 0.0,
        "transform": g / m.transform,
        "value": g / m.value + m.each + one,
        "gradient": g / m.value + g / m.gradient + 2 * m.each + one + reduce_time(31, ranks, m),
        "reduce": one,
    }
    passes = FIT["value"] / m.value + FIT["gradient"] * (1 / m.value + 1 / m.gradient) + FIT["hessian"] / m.hessian
    whole = FIT["value"] + FIT["gradient"] + FIT["hessian"]
    t["fit"] = g * passes + FIT["calls"] * (m.each + 2 * (ranks - 1) * m.latency) + whole * one if ranks > 1 else \
        g * passes + FIT["calls"] * m.each
    t["total"] = t["read"] + t["exchange"] + t["transform"] + t["fit"]
    return t


# The acquisitions of the plans: the reference; scans that grow; one whose G fits no card.
ACQUISITIONS = [
    Acquisition("512 x 512 x 192 x 192", (512, 512), (192, 192), (0.373, 0.373), 52.9, (95.5, 95.5)),
    Acquisition("1024 x 1024 x 192 x 192", (1024, 1024), (192, 192), (0.373, 0.373), 52.9, (95.5, 95.5)),
    Acquisition("2048 x 2048 x 256 x 256", (2048, 2048), (256, 256), (0.373, 0.373), 70.5, (127.5, 127.5)),
]


def table(m: Machine, counts: list[int]) -> None:
    for a in ACQUISITIONS:
        print("\n%s: file %.0f GB, G %.1f GB, %d frequencies, %d pixels (%s)" %
              (a.name, a.file_bytes / 1e9, a.g_bytes / 1e9, a.frequencies(), a.disk_pixels, m.name))
        print("\n| ranks | GB of G | read | exchange | to G | value | gradient | of it sums | fit | in all | speed-up of gradient |")
        print("|---|---|---|---|---|---|---|---|---|---|---|")
        first = times(a, 1, m)
        for n in counts:
            if n > a.disk_pixels:
                continue
            t = times(a, n, m)
            print("| %d | %.2f | %.2f s | %.2f s | %.0f ms | %.2f ms | %.2f ms | %.2f ms | %.2f s | %.2f s | %.1f |" %
                  (n, a.g_bytes * share_of(a, n) / 1e9, t["read"], t["exchange"], 1e3 * t["transform"], 1e3 * t["value"],
                   1e3 * t["gradient"], 1e3 * t["reduce"], t["fit"], t["total"], first["gradient"] / t["gradient"]))


if __name__ == "__main__":
    table(H200, [1, 2, 4, 8, 16, 32, 64, 128, 256, 1024])
    table(CORE, [1, 2, 4, 16, 64, 256])
