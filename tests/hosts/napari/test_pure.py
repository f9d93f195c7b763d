"""What needs no window: rows, the shared model, lazy frames, places of layers, tasks, reader and writer."""
import json
import subprocess
import sys
import threading

import numpy as np
import pytest
import sideband
from napari_sideband import _layers
from napari_sideband._catalog import commands, data_rows, show
from napari_sideband._feed import FileFeed, LayerFeed, pair
from napari_sideband._frames import Frames
from napari_sideband._layers import KEY, Frame
from napari_sideband._model import Model, coefficients_text, read_coefficients
from napari_sideband._reader import acquisition_layer, get_reader, read
from napari_sideband._sample import TRUTH
from napari_sideband._table import doubt_of, table_rows, value_text
from napari_sideband._task import Task
from napari_sideband._units import factor, measures
from napari_sideband._writer import write_image


def test_nothing_heavy_is_imported_before_it_is_needed():
    """The manifest's package imports nothing; model, reader and tasks import no Qt."""
    code = ("import sys, napari_sideband; assert 'numpy' not in sys.modules and 'napari' not in sys.modules;"
            "import napari_sideband._reader, napari_sideband._model, napari_sideband._stream, napari_sideband._writer,"
            "napari_sideband._sample, napari_sideband._script;"
            "assert not [m for m in sys.modules if m.startswith(('PyQt', 'PySide', 'qtpy', 'vispy'))]")
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- rows and model ----

def test_text_of_a_field_becomes_json():
    rows = {row.name: row for row in commands()["run"].rows()}
    assert rows["energy"].read(" 300 ") == 300.0 and rows["energy"].read("") is None
    assert rows["energy"].read("many") == "many"  # the library answers it
    assert rows["seed"].read("7") == 7 and isinstance(rows["seed"].read("7"), int)
    assert rows["rotation"].read("auto") is None and rows["orientation"].read("auto") == "auto"
    assert data_rows()["scan_shape"].read("50x60") == "50,60"
    for value in (300.0, 0.373, "10,20", "C10=5"):
        assert rows["energy"].read(show(value)) in (value, show(value))


def test_model_gives_what_is_given():
    model, told = Model(), []
    model.changed.connect(told.append)
    model.set("fit", "semiangle", 30.0)
    model.set("fit", "semiangle", 30.0)
    assert told == ["semiangle"]
    assert model.parameters("fit") == {"semiangle": 30.0} == model.parameters("reconstruct")
    model.set("fit", "semiangle", None)
    assert model.parameters("fit") == {}


FIT = {"calibration": {"centre": [17.5, 18.25], "radius": 12.0, "rotation": -3.25, "sampling": None},
       "values": {"C10": {"value": 1 / 3, "error": 0.01, "spread": 0.02}, "phi12": {"value": -0.1, "error": 0.1}},
       "parameters": {"semiangle": 30.0}}


def test_what_a_fit_found_is_known_to_the_reconstruction_only():
    model = Model()
    model.set("fit", "semiangle", 30.0)
    model.adopt(FIT)
    given = model.parameters("reconstruct")
    assert given == {"semiangle": 30.0, "centre": "17.5,18.25", "rotation": -3.25,
                     "coefficients": f"C10={1 / 3!r} phi12=-0.1"}
    assert model.parameters("fit") == {"semiangle": 30.0}  # a new fit is free again
    model.set("reconstruct", "rotation", 4.0)
    assert model.parameters("reconstruct")["rotation"] == 4.0 and "rotation" not in model.parameters("fit")


def test_coefficients_keep_their_bits():
    values = {"C10": 1 / 3, "C12": 2e-9, "phi12": -np.pi}
    assert read_coefficients(coefficients_text(values)) == values
    assert read_coefficients("C10=1, C12=two  C30=3") == {"C10": 1.0, "C30": 3.0}


def test_save_and_load(tmp_path):
    model, other = Model(), Model()
    for name, value in (("semiangle", 30.0), ("centre", "1,2"), ("seed", 7), ("scan_shape", "4,5")):
        model.set("run", name, value)
    model.save(tmp_path / "p.json", "run")
    other.load(tmp_path / "p.json")
    assert other.parameters("run") == model.parameters("run") and other.opening() == {"scan_shape": "4,5"}


def test_load_takes_a_result(tmp_path):
    (tmp_path / "fit.json").write_text(json.dumps(FIT))
    model = Model()
    model.load(tmp_path / "fit.json")
    assert model.parameters("fit") == {"semiangle": 30.0} and "C10=" in model.parameters("reconstruct")["coefficients"]


@pytest.mark.parametrize("text, word", [("{", "no JSON"), ("[1]", "no JSON object"), ('{"semiangel": 3}', "semiangel")])
def test_load_refuses_with_a_sentence(tmp_path, text, word):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=word) as caught:
        Model().load(path)
    assert str(caught.value).endswith(".") and "bad.json" in str(caught.value)


def test_saved_parameters_are_read_by_the_command_line(tmp_path, sample, cli):
    model = Model()
    model.set("run", "semiangle", 30.0)
    model.set("run", "lock", "C30")
    model.save(tmp_path / "p.json", "run")
    line = [cli, "fit", sample, "--params", str(tmp_path / "p.json"), "--json", "--output", str(tmp_path) + "/"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["parameters"]["lock"] == "C30"


@pytest.mark.parametrize("value, doubt, text", [
    (6.0684, 0.0601, "6.068 ± 0.060"), (0.40038, 0.00577, "0.4004 ± 0.0058"), (1837.06, 205.6, "1840 ± 210"),
    (5.5, 0.0996, "5.50 ± 0.10"), (13203.8, 5863.5, "13200 ± 5900"), (2.5, None, "2.5"), (-0.3, 0.0, "-0.3"),
    (0.5, 9.96, "0 ± 10"), (3.14159, 1.0, "3.1 ± 1.0"),
])
def test_two_digits_of_the_uncertainty(value, doubt, text):
    assert value_text(value, doubt) == text


def test_table_has_the_larger_doubt():
    assert doubt_of({"error": 0.01, "spread": 0.06}) == 0.06 and doubt_of({"value": 1}) is None
    assert table_rows({"values": {"C10": {"value": 1.0}}}) == []
    assert table_rows(FIT)[0][1] == "0.333 ± 0.020"


# ---- frames ----

def frames_of(array, flyback=0):
    padded = np.pad(array, ((0, 0), (0, flyback), (0, 0), (0, 0)))
    flat = padded.reshape(-1, *array.shape[2:])
    return Frames(lambda first, n: flat[first:first + n], array.shape, array.dtype, 0, array.shape[1] + flyback)


@pytest.mark.parametrize("flyback", [0, 3])
def test_frames_slice_as_numpy(counts, flyback):
    frames = frames_of(counts, flyback)
    for key in [np.s_[2, 3], np.s_[0:6:2, 4], np.s_[:, :, 3, 4], np.s_[..., 2], np.s_[1:4, 1:6, 2:5, 7], np.s_[-1],
                np.s_[3, ::-1], np.s_[:0], np.s_[2, 5, 1, 1]]:
        assert np.array_equal(frames[key], counts[key]), key
    assert np.asarray(frames).dtype == counts.dtype and np.array_equal(np.asarray(frames), counts)
    with pytest.raises(IndexError):
        frames[[1, 2]]


def test_one_frame_of_a_huge_file_is_one_frame():
    frames = Frames(lambda first, n: np.full((n, 256, 256), first % 7, np.uint16), (1024, 1024, 256, 256), np.uint16)
    assert frames.nbytes > 100e9
    assert frames[1000, 5].max() == (1000 * 1024 + 5) % 7
    assert frames.frames_read == 1


# ---- places ----

ACQUISITION = Frame((6, 7, 10, 12), (0.04, 0.05, 1.5, 1.5), ("nm", "nm", "mrad", "mrad"), (0.0,) * 4)


def entry(name, shape, step, unit):
    return {"name": name, "title": name, "unit": "rad", "shape": list(shape), "step": list(step),
            "axis_unit": [unit] * len(shape), "detail": False}


def test_image_stands_over_its_scan():
    array = entry("phase", (18, 21), (0.04 / 3, 0.05 / 3), "nm")
    data, kwargs, kind = _layers.image_layer(array, np.zeros((18, 21)), {}, ACQUISITION, "p")
    assert kind == "image" and data.shape == (18, 21, 1, 1)
    assert kwargs["units"] == ACQUISITION.units
    # one pixel as large as the detector, about its middle
    assert kwargs["scale"][2:] == (15.0, 18.0) and kwargs["translate"][2:] == (6.75, 8.25)
    assert kwargs["translate"][:2] == (0.0, 0.0)


def test_units_of_the_acquisition_are_kept():
    frame = Frame((6, 7, 10, 12), (0.4, 0.5, 1.0, 1.0), ("angstrom", "angstrom", "pixel", "pixel"), (0.0,) * 4)
    _, kwargs, _ = _layers.image_layer(entry("phase", (6, 7), (0.04, 0.05), "nm"), np.zeros((6, 7)), {}, frame, "p")
    assert kwargs["scale"][:2] == pytest.approx((0.4, 0.5)) and kwargs["units"] == frame.units


def test_part_of_a_scan_stands_where_it_is():
    info = {"parameters": {"scan_region": [2, 3, 3, 4]}}
    array = entry("phase", (3, 4), (0.04, 0.05), "nm")
    _, kwargs, _ = _layers.image_layer(array, np.zeros((3, 4)), info, ACQUISITION, "p")
    assert kwargs["translate"][:2] == pytest.approx((0.08, 0.15))


def test_segments_become_layers():
    info = {"arrays": [entry("detector", (4, 6, 7), (None, 0.04, 0.05), "nm"), entry("mean", (10, 12), (1, 1), "mrad"),
                       entry("curve", (5,), (1,), "1/Å")]}
    pixels = {"detector": np.arange(4 * 42).reshape(4, 6, 7), "mean": np.zeros((10, 12)), "curve": np.zeros(5)}
    layers = _layers.result_layers(info, pixels, None, "film")
    assert [kwargs["name"] for _, kwargs, _ in layers] == [f"film detector {n}" for n in (4, 3, 2, 1)]
    assert np.array_equal(layers[-1][0], pixels["detector"][0])


def test_units():
    assert factor("angstrom", "nm") == pytest.approx(0.1) and factor("pixel", "nm") is None
    assert measures("milliradian", "mrad") and not measures("pixel", "nm") and not measures("dimensionless", "mrad")


# ---- tasks ----

def test_task_keeps_everything():
    for problem in (RuntimeError("lost?"), KeyboardInterrupt(), sideband.Cancelled("x")):
        def work(task, problem=problem):
            raise problem
        task = Task(work).start()
        assert task.join(20) and task.error is problem and task.value is None
    assert Task(lambda task: 7).start().join(20)


def test_task_lets_go_before_it_is_done():
    gone = threading.Event()

    class Held:
        def __del__(self):
            gone.set()

    def work(task, held=None):
        held = Held()
        assert held is not None
        task.wait(60)

    task = Task(work).start()
    task.cancel()
    assert task.join(20) and gone.is_set()


def test_cancel_reaches_what_runs_and_what_starts_later():
    stopped = []
    ready = threading.Event()

    def work(task):
        task.on_cancel(lambda: stopped.append("first"))
        ready.set()
        while not stopped:
            threading.Event().wait(0.005)
        task.on_cancel(lambda: stopped.append("later"))

    task = Task(work).start()
    assert ready.wait(20)
    task.cancel()
    assert task.join(20) and stopped == ["first", "later"] and isinstance(task.error, sideband.Cancelled)


# ---- reader and writer ----

@pytest.mark.parametrize("name, content", [("x.h5", b"no HDF5"), ("y.h5", b""), ("z.raw", bytes(1000)), ("d.h5", None)])
def test_foreign_files_fall_through(tmp_path, name, content):
    path = tmp_path / name
    path.mkdir() if content is None else path.write_bytes(content)
    assert get_reader(str(path)) is None


def test_sample_is_what_was_simulated(sample):
    data, kwargs, kind = read(sample)[0]
    assert kind == "image" and data.shape == (36, 36, 36, 36) and data.dtype == np.uint16
    about = kwargs["metadata"][KEY]
    assert about["acquisition"]["energy"] == 300 and TRUTH["C10"] == 6
    json.dumps(about)  # plain, whatever hangs beside it
    again = sideband_frames(sample)
    assert np.array_equal(data[3, 4:6], again[3 * 36 + 4:3 * 36 + 6])


def sideband_frames(path):
    from napari_sideband._reader import acquisition_layer as layer

    data, _, _ = layer(path)
    return np.asarray(data).reshape(-1, 36, 36)


def test_a_broken_acquisition_is_said(examples, tmp_path):
    import os
    import shutil

    shutil.copy(os.path.join(examples, "acquisitions/film_master.h5"), tmp_path)
    path = str(tmp_path / "film_master.h5")
    assert get_reader(path) is not None  # taken, to be said
    with pytest.raises(sideband.FileError, match="film_data_000001"):
        acquisition_layer(path)


def test_result_comes_back_from_its_file(tmp_path, sample, run_cli):
    run_cli("run", sample, "--semiangle", "30")
    path = str(tmp_path / "columns_result.h5")
    layers = get_reader(path)(path)
    data, kwargs, _ = layers[-1]
    assert kwargs["name"] == "columns phase" and data.shape == (108, 108)
    assert kwargs["scale"] == pytest.approx((0.04 / 3, 0.04 / 3)) and kwargs["units"] == ("nm", "nm")
    written = write_image(str(tmp_path / "copy.h5"), data, kwargs)
    again = get_reader(written[0])(written[0])[-1]
    assert np.array_equal(again[0], data) and again[1]["scale"] == kwargs["scale"]


def test_tiff_keeps_the_calibration(tmp_path):
    import tifffile

    image = np.arange(12, dtype=np.float64).reshape(3, 4)
    meta = {"name": "phase", "scale": (0.2, 0.4, 15, 18), "units": ("angstrom", "angstrom", "mrad", "mrad"),
            "metadata": {KEY: {"info": {"version": "1", "text": "±"}}}}
    assert write_image(str(tmp_path / "p.tif"), image[:, :, None, None], meta) == [str(tmp_path / "p.tif")]
    with tifffile.TiffFile(tmp_path / "p.tif") as tiff:
        about, tags = tiff.imagej_metadata, tiff.pages[0].tags
        assert np.array_equal(tiff.asarray(), image.astype(np.float32))
        rational = [tags[name].value for name in ("XResolution", "YResolution")]
    assert about["unit"] == "nm" and json.loads(about["Info"]) == {"version": "1", "text": "±"}
    assert [den / num for num, den in rational] == pytest.approx([0.04, 0.02])
    assert [path.name for path in tmp_path.iterdir()] == ["p.tif"]


def test_only_results_become_result_files(tmp_path):
    with pytest.raises(ValueError, match="no result of Sideband"):
        write_image(str(tmp_path / "a.h5"), np.zeros((3, 4)), {"name": "mine"})


# ---- feeds ----

def test_raw_file_grows(tmp_path, counts):
    path = tmp_path / "scan.raw"
    flat = counts.reshape(-1, 10, 12)
    path.write_bytes(b"head" + flat[:5].astype(">u2").tobytes() + b"x")
    feed = FileFeed(str(path), {"detector_shape": "10,12", "dtype": ">u2", "header_bytes": 4})
    assert feed.arrived() == 5 and np.array_equal(feed.read(1, 3), flat[1:4])
    path.write_bytes(b"head" + flat.astype(">u2").tobytes())
    assert feed.arrived() == 42 and feed.read(40, 2).dtype == np.uint16
    with pytest.raises(ValueError, match="detector shape"):
        FileFeed(str(path), {})


def test_npy_file_grows(tmp_path, counts):
    path = tmp_path / "scan.npy"
    np.save(path, counts)
    whole = path.read_bytes()
    path.write_bytes(whole[:-700])
    feed = FileFeed(str(path), {})
    assert feed.scan_shape == (6, 7) and feed.detector_shape == (10, 12) and feed.arrived() == 42 - 3
    assert np.array_equal(feed.read(7, 2), counts[1, :2])


def test_layer_says_how_far_it_is(counts):
    from napari.layers import Image

    arrived = [3]
    layer = Image(counts, metadata={KEY: {"arrived": lambda: arrived[0]}})
    feed = LayerFeed(layer)
    assert feed.arrived() == 3 and feed.scan_shape == (6, 7)
    arrived[0] = 99
    assert feed.arrived() == 42
    assert np.array_equal(feed.read(5, 11), counts.reshape(-1, 10, 12)[5:16])
    stack = Image(counts.reshape(-1, 10, 12)[:20])
    feed = LayerFeed(stack)
    assert feed.arrived() == 20 and feed.scan_shape is None
    stack.data = counts.reshape(-1, 10, 12)
    assert feed.arrived() == 42 and np.array_equal(feed.read(30, 2), counts.reshape(-1, 10, 12)[30:32])


def test_pair():
    assert pair("50x60") == (50, 60) == pair([50, 60]) and pair(7) == (7, 7) and pair("") is None
    with pytest.raises(ValueError, match="rows,cols"):
        pair("a,b")
