"""Frames that arrive while one looks: the pattern and the image are refined, the end equals the file, cancel works."""
import threading
import time

import numpy as np
import pytest
import sideband
from napari_sideband._feed import FileFeed
from napari_sideband._layers import KEY
from napari_sideband._reader import acquisition_layer
from napari_sideband._settings import session
from napari_sideband._stream import Stream
from napari_sideband._task import Task

OPTICS = {"semiangle": 30.0, "energy": 300.0, "step": 0.4}


@pytest.fixture
def frames(sample):
    return np.asarray(acquisition_layer(sample)[0])


def write_later(path, frames, gate):
    """Another program: writes a quarter, waits until somebody saw it, and so on."""
    flat = frames.reshape(-1, *frames.shape[2:])
    def write():
        with open(path, "ab") as file:
            for part in np.array_split(flat, 4):
                file.write(part.tobytes())
                file.flush()
                if not gate.acquire(timeout=30):
                    return
    thread = threading.Thread(target=write, daemon=True)
    path.touch()
    thread.start()
    return thread


def test_growing_file_gives_the_same_bits(tmp_path, frames, sample, run_cli):
    gate = threading.Semaphore(0)
    path = tmp_path / "scan.raw"
    writer = write_later(path, frames, gate)
    opening = {"scan_shape": "36,36", "detector_shape": "36,36", "dtype": "uint16"}
    stream = Stream(session(), FileFeed(str(path), opening), "run", opening, OPTICS)
    task = Task(stream.work).start()
    looks, patterns, seen = 0, 0, 0
    while not task.done:
        looks += stream.take_look("ssb") is not None
        patterns += stream.take_look("mean_pattern") is not None
        if min(looks, patterns) > seen:
            seen += 1
            gate.release()
        threading.Event().wait(0.02)
    gate.release()
    writer.join(30)
    assert task.error is None
    assert seen >= 3
    assert stream.pushed == 36 * 36
    run_cli("run", sample, "--semiangle", "30")
    theirs = sideband.open_result(str(tmp_path / "columns_result.h5")).array("phase")
    assert np.array_equal(task.value.arrays["phase"], theirs)


def test_the_last_frames_are_seen_though_no_more_come(tmp_path, frames, monkeypatch):
    """Frames that come just after a look are in the next one, not only once others follow."""
    monkeypatch.setattr("napari_sideband._stream._LOOK_SECONDS", 2.0)
    path = tmp_path / "scan.raw"
    opening = {"scan_shape": "36,36", "detector_shape": "36,36", "dtype": "uint16"}
    path.write_bytes(frames[:3].tobytes())
    stream = Stream(session(), FileFeed(str(path), opening), "run", opening, OPTICS)
    task = Task(stream.work).start()

    def look_of(rows):
        wanted = frames[:rows].mean(axis=(0, 1))
        until = time.monotonic() + 30
        while time.monotonic() < until and not task.done:
            look = stream.take_look("mean_pattern")
            if look is not None and np.allclose(look, wanted, rtol=1e-5):
                return True
            threading.Event().wait(0.01)
        return False

    first = look_of(3)
    with open(path, "ab") as file:
        file.write(frames[3:5].tobytes())
    second = look_of(5)
    task.cancel()
    assert task.join(20) and first and second


def test_cancel_while_waiting_for_frames(tmp_path, frames):
    path = tmp_path / "scan.raw"
    path.write_bytes(frames[:3].tobytes())
    opening = {"scan_shape": "36,36", "detector_shape": "36,36", "dtype": "uint16"}
    stream = Stream(session(), FileFeed(str(path), opening), "run", opening, OPTICS)
    task = Task(stream.work).start()
    while stream.pushed < 3 * 36 and not task.done:
        threading.Event().wait(0.01)
    assert not task.done
    task.cancel()
    assert task.join(20) and isinstance(task.error, sideband.Cancelled)


def test_a_scan_shape_is_needed(tmp_path, frames):
    path = tmp_path / "scan.raw"
    path.write_bytes(frames[:1].tobytes())
    opening = {"detector_shape": "36,36", "dtype": "uint16"}
    with pytest.raises(ValueError, match="scan shape"):
        Stream(session(), FileFeed(str(path), opening), "run", opening, OPTICS)


def test_layer_that_fills_up(viewer, add, finish, frames, qtbot, errors):
    arrived = [0]
    array = np.zeros_like(frames)
    layer = viewer.add_image(array, name="live", contrast_limits=(0, 60),
                             metadata={KEY: {"arrived": lambda: arrived[0], "known": OPTICS}})
    stream = add(viewer, "Stream acquisition")
    stream.run()
    seen = 0
    for rows in range(9, 37, 9):
        array[:rows] = frames[:rows]
        arrived[0] = rows * 36
        qtbot.waitUntil(lambda: stream.stream is None or stream.stream.pushed >= min(rows, 35) * 36, timeout=30000)
        qtbot.wait(450)
        seen += stream.picture.pixels is not None
    finish(stream)
    assert errors == [] and seen >= 1 and stream.looks_drawn >= 1
    assert stream.table.texts()[0][0] == "C10"
    assert "live phase" in viewer.layers and "Sideband preview" not in viewer.layers
    assert viewer.layers.units is not None and str(layer.units[0]) == "nanometer"


def test_stream_is_cancelled_by_its_button(viewer, add, finish, frames, qtbot, errors):
    viewer.add_image(frames, name="live", contrast_limits=(0, 60), metadata={KEY: {"arrived": 100, "known": OPTICS}})
    stream = add(viewer, "Stream acquisition")
    stream.run()
    qtbot.waitUntil(lambda: stream.stream.pushed == 100, timeout=30000)
    stream.runner.cancel_button.click()
    finish(stream)
    assert errors == [] and stream.runner.bar.format() == "cancelled" and stream.run_button.isEnabled()
    viewer.layers.clear()
    stream.run()
    assert len(errors) == 1 and errors[0].endswith(".")
