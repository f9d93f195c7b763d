"""The widgets in a viewer: open, fit, reconstruct, cancel, errors, and what may happen to layers meanwhile."""
import json
import time
import warnings

import numpy as np
import pytest
import sideband
from napari_sideband._layers import KEY
from napari_sideband._model import model_of
from napari_sideband._task import Task
from napari_sideband._view import scale_bar

FIT, RECONSTRUCT, DETECTOR = "Fit aberrations", "Reconstruct", "Virtual detector"


def test_sample_opens_lazily_and_calibrated(opened):
    layer = opened.layers[0]
    assert layer.data.shape == (36, 36, 36, 36)
    assert [str(unit) for unit in layer.units] == ["nanometer", "nanometer", "milliradian", "milliradian"]
    assert tuple(layer.scale) == pytest.approx((0.04, 0.04, 2.0, 2.0), abs=1e-12)
    assert layer.axis_labels == ("scan_row", "scan_col", "det_row", "det_col")
    assert layer.data.frames_read <= 6  # limits, first slice, thumbnail: a frame each, never the file


def test_fit_then_reconstruct(opened, add, finish, errors):
    fit = add(opened, FIT)
    image = add(opened, RECONSTRUCT)
    fit.run()
    finish(fit)
    assert errors == []
    row = fit.table.texts()[0]
    assert row[0] == "C10" and "±" in row[1] and row[2] == "nm"
    assert float(row[1].split("±")[0]) == pytest.approx(6.0, abs=0.3)  # what the sample was simulated with
    assert fit.picture.pixels is not None and fit.picture.pixels.std() > 0
    image.run()
    finish(image)
    assert errors == []
    phase = opened.layers[-1]
    assert phase.name == "columns phase" and phase.data.shape[2:] == (1, 1)
    assert phase.data.std() > 0
    # the scan's size in the world is that of the acquisition
    extent = phase.data.shape[0] * phase.scale[0]
    assert extent == pytest.approx(36 * 0.04, rel=1e-9)
    assert scale_bar(opened).visible and tuple(opened.dims.order) == (2, 3, 0, 1)
    assert str(opened.layers.units[-1]) == "milliradian" and str(opened.layers.units[0]) == "nanometer"


def test_units_stay_consistent(opened, add, finish):
    fit, image = add(opened, FIT), add(opened, RECONSTRUCT)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*[Ii]nconsistent units.*")
        for widget in (fit, image, image):
            widget.run()
            finish(widget)
            widget.toggle_plane()
            assert opened.layers.units is not None
        opened.layers.remove(opened.layers[0])
        assert opened.layers.units is not None


def test_result_equals_command_line(opened, add, finish, sample, run_cli, tmp_path):
    run = add(opened, "Fit and reconstruct")
    run.run()
    finish(run)
    said = json.loads(run_cli("run", sample, "--semiangle", "30"))
    assert run.outcome.info["values"] == said["values"]
    assert run.outcome.info["coordinates"] == said["coordinates"]
    theirs = sideband.open_result(str(tmp_path / "columns_result.h5")).array("phase")
    assert np.array_equal(opened.layers[-1].data[:, :, 0, 0], theirs)


def test_pushed_frames_equal_the_file(viewer, add, finish, sample, errors):
    from napari_sideband._reader import acquisition_layer

    data, kwargs, _ = acquisition_layer(sample, known={"semiangle": 30, "energy": 300}, sampling=2.0)
    from_file = viewer.add_image(data, **kwargs)
    run = add(viewer, "Fit and reconstruct")
    run.run()
    finish(run)
    file_info, file_phase = run.outcome.info, run.outcome.arrays["phase"]
    viewer.layers.clear()
    memory = {**kwargs, "metadata": {KEY: {"known": {"semiangle": 30, "energy": 300}}}}
    memory["units"] = ("nm", "nm", "pixel", "pixel")  # the sampling stays to be found, as for the file
    memory["scale"] = (0.04, 0.04, 1, 1)
    viewer.add_image(np.asarray(from_file.data), **memory)
    run.run()
    finish(run)
    assert errors == []
    assert run.outcome.info["values"] == file_info["values"]
    assert np.array_equal(run.outcome.arrays["phase"], file_phase)


def test_parameters_are_known_from_the_layer(opened, add):
    fit = add(opened, FIT)
    assert fit.form.fields["semiangle"].widget.native.placeholderText().startswith("30")
    assert fit.form.fields["energy"].widget.native.placeholderText().startswith("300")
    for field in fit.form.fields.values():
        if field.row.unit and field.row.type != "bool":
            assert field.row.unit in field.widget.label
        assert field.row.help in field.widget.tooltip
    assert "underfocused" in fit.form.fields["coefficients"].widget.tooltip


def test_every_row_of_the_catalog_has_a_field(opened, add):
    fit = add(opened, FIT)
    assert {row.name for row in fit.command.rows()} <= set(fit.form.fields)


def test_widgets_share_one_model(opened, add):
    fit, image = add(opened, FIT), add(opened, RECONSTRUCT)
    assert fit.model is image.model is model_of(opened)
    fit.form.fields["semiangle"].widget.value = "29.5"
    assert image.form.fields["semiangle"].widget.value == "29.5"
    assert fit.model.parameters("reconstruct")["semiangle"] == 29.5
    fit.model.reset()
    assert image.form.fields["semiangle"].widget.value == ""


def test_rerun_gives_a_layer_of_its_own(opened, add, finish):
    image = add(opened, RECONSTRUCT)
    for _ in range(2):
        image.run()
        finish(image)
    assert [layer.name for layer in opened.layers] == ["columns", "columns phase", "columns phase [2]"]


def test_cancel_twice_then_run(opened, add, finish, errors, capsys):
    fit = add(opened, FIT)
    fit.model.set("fit", "trials", 500000)
    for _ in range(2):
        fit.run()
        time.sleep(0.05)
        start = time.perf_counter()
        fit.runner.cancel_button.click()
        finish(fit)
        with capsys.disabled():  # a figure for the log, not a limit
            print(f"\n# from Cancel to the answer: {1000 * (time.perf_counter() - start):.0f} ms")
        assert fit.runner.bar.format() == "cancelled"
        assert fit.run_button.isEnabled() and fit.outcome is None
    fit.model.set("fit", "trials", None)
    fit.run()
    finish(fit)
    assert errors == [] and fit.outcome is not None


def test_activity_dock_shows_and_cancels(opened, add, finish):
    from napari.utils.progress import progress

    fit = add(opened, FIT)
    fit.model.set("fit", "trials", 500000)
    fit.run()
    bars = [bar for bar in progress._all_instances if bar.desc.startswith(FIT)]
    assert len(bars) == 1 and bars[0].total == 100
    bars[0].cancel()
    finish(fit)
    assert fit.runner.bar.format() == "cancelled"
    assert not [bar for bar in progress._all_instances if bar.desc.startswith(FIT)]


@pytest.mark.parametrize("problem", [RuntimeError, StopIteration, KeyError, MemoryError])
def test_no_exception_is_lost(opened, add, finish, errors, problem):
    fit = add(opened, FIT)

    def work(task):
        raise problem("what went wrong")

    fit.runner.run(work, lambda value: None, lambda: None)
    finish(fit)
    assert len(errors) == 1 and "what went wrong" in errors[0]
    assert fit.runner.bar.format() == "failed"


def test_error_is_one_sentence(opened, add, finish, errors):
    fit = add(opened, FIT)
    fit.form.fields["lock"].widget.value = "C99"
    fit.run()
    finish(fit)
    assert len(errors) == 1 and "C99" in errors[0] and errors[0].endswith(".")
    assert fit.run_button.isEnabled()


@pytest.mark.parametrize("make, word", [
    (lambda v: v.add_image(np.zeros((20, 20), np.uint16), name="flat"), "2 axes"),
    (lambda v: v.add_image(np.zeros((20, 20, 3), np.uint8), rgb=True, name="colour"), "colour"),
    (lambda v: v.add_labels(np.zeros((4, 4, 8, 8), int), name="cells"), "labels"),
    (lambda v: v.add_image(np.zeros((4, 4, 8, 8), np.int64), name="long", contrast_limits=(0, 1)), "int64"),
    (lambda v: v.add_image(np.zeros((16, 8, 8), np.uint16), name="stack"), "scan shape"),
    (lambda v: None, "No layer"),
])
def test_wrong_layer_is_one_sentence(viewer, add, errors, make, word):
    make(viewer)
    fit = add(viewer, FIT)
    fit.run()
    assert not fit.runner.running
    assert len(errors) == 1 and word in errors[0] and errors[0].endswith(".")


def test_layer_deleted_while_running(opened, add, finish, errors):
    fit = add(opened, "Fit and reconstruct")
    fit.run()
    opened.layers.clear()
    finish(fit)
    assert errors == []
    assert [layer.name for layer in opened.layers] == ["columns phase"]
    assert opened.layers[0].ndim == 2  # alone in the viewer it is a plain image


def test_layer_renamed_and_hidden_while_running(opened, add, finish, errors):
    fit = add(opened, "Fit and reconstruct")
    fit.run()
    opened.layers[0].name = "another"
    opened.layers[0].visible = False
    finish(fit)
    assert errors == []
    assert fit.layer_box.current_choice == "another"
    assert "columns phase" in opened.layers


def test_widget_closed_while_running(opened, add, finish, errors, qtbot):
    fit = add(opened, FIT)
    fit.model.set("fit", "trials", 500000)
    fit.run()
    task = fit.runner.task
    opened.window.remove_dock_widget(fit)
    fit.close()
    fit.deleteLater()
    qtbot.waitUntil(lambda: task.done, timeout=20000)
    assert isinstance(task.error, sideband.Cancelled)
    opened.layers.clear()  # nobody may still listen to the viewer
    assert errors == []


def test_viewer_closed_while_running(make_napari_viewer, add, qtbot):
    viewer = make_napari_viewer()
    viewer.open_sample("napari-sideband", "columns")
    fit = add(viewer, FIT)
    fit.model.set("fit", "trials", 500000)
    fit.run()
    task = fit.runner.task
    viewer.close()
    qtbot.waitUntil(lambda: task.done, timeout=20000)
    assert isinstance(task.error, sideband.Cancelled)


def test_preview_follows_a_slider(opened, add, finish, errors, qtbot):
    fit, image = add(opened, FIT), add(opened, RECONSTRUCT)
    fit.run()
    finish(fit)
    image.live.setChecked(True)
    qtbot.waitUntil(lambda: image.follower.drawn == 1, timeout=30000)
    layer = opened.layers["Sideband preview"]
    before = np.array(layer.data)
    image.sliders.sliders["C10"].widget.value = 0
    qtbot.waitUntil(lambda: not image.follower.busy, timeout=30000)
    assert image.follower.drawn >= 2 and not np.array_equal(before, layer.data)
    assert float(image.sliders.edits["C10"].value) < 1e-3
    assert [known.name for known in opened.layers] == ["columns", "Sideband preview"]
    image.run()
    finish(image)
    # the image of the command is the one that was previewed, and takes its place
    assert np.array_equal(opened.layers["columns phase"].data, layer.data)
    assert "Sideband preview" not in opened.layers and errors == []


def test_many_moves_draw_the_last(opened, add, finish, qtbot, errors):
    image = add(opened, RECONSTRUCT)
    image.model.set("reconstruct", "coefficients", "C10=1")
    image.live.setChecked(True)
    for value in range(2, 12):
        image.model.set("reconstruct", "coefficients", f"C10={value}")
        qtbot.wait(15)
    qtbot.waitUntil(lambda: not image.follower.busy, timeout=30000)
    previewed = np.array(opened.layers["Sideband preview"].data)
    image.run()
    finish(image)
    assert np.array_equal(opened.layers["columns phase"].data, previewed) and errors == []


def test_detector_is_dragged(opened, add, finish, qtbot, errors):
    detector = add(opened, DETECTOR)
    detector.detector.draw_button.click()
    qtbot.waitUntil(lambda: detector.follower.drawn >= 1, timeout=30000)
    shapes = opened.layers["Sideband detector"]
    first = np.array(detector.picture.pixels)
    shapes.data = [corners + 6 for corners in shapes.data]
    qtbot.waitUntil(lambda: detector.follower.drawn >= 2 and not detector.follower.busy, timeout=30000)
    assert not np.array_equal(first, detector.picture.pixels)
    detector.run()
    finish(detector)
    image = opened.layers["columns virtual detector"]
    frames = np.asarray(opened.layers["columns"].data)
    assert np.array_equal(image.data[:, :, 0, 0], frames[..., detector.detector.mask()].sum(axis=-1))
    assert errors == [] and opened.layers.units is not None


def test_calibration_picture(opened, add, finish):
    calibrate = add(opened, "Calibrate")
    calibrate.run()
    finish(calibrate)
    pixels = calibrate.picture.pixels
    assert pixels.ndim == 3 and pixels.shape[2] == 3 and pixels.std() > 10


def test_both_themes_and_a_small_screen(opened, add, qtbot):
    fit = add(opened, FIT)
    for theme in ("light", "dark"):
        opened.theme = theme
    opened.window.resize(700, 480)
    qtbot.wait(50)
    # all of it is reached by scrolling
    assert fit.minimumSizeHint().height() < 300


def test_settings_reach_the_session(opened, monkeypatch):
    from napari_sideband import _settings

    first = _settings.session()
    assert _settings.session() is first
    monkeypatch.setattr(_settings, "engine", lambda: {"threads": 1})
    assert _settings.session() is not first


def test_settings_page_is_there(opened):
    from napari.settings import get_plugin_settings
    from napari_sideband._settings import engine

    settings = get_plugin_settings("napari-sideband")
    assert {"backend", "threads", "memory"} <= set(type(settings.engine).model_fields)
    assert engine() == {}
    settings.engine.threads = 1
    try:
        assert engine() == {"threads": 1}
    finally:
        settings.engine.threads = 0


def test_gap_of_the_event_loop_is_printed(opened, add, finish, capsys):
    """How long the window is not served while a fit runs: a figure for the log, not a limit."""
    from qtpy.QtCore import QTimer

    fit = add(opened, FIT)
    fit.model.set("fit", "trials", 3000)
    ticks = []
    timer = QTimer()
    timer.setInterval(5)
    timer.timeout.connect(lambda: ticks.append(time.perf_counter()))
    timer.start()
    fit.run()
    finish(fit)
    timer.stop()
    with capsys.disabled():
        largest = 1000 * np.max(np.diff(ticks))
        print(f"\n# largest gap of a 5 ms timer while fitting: {largest:.0f} ms of {len(ticks)} ticks")
    assert len(ticks) > 10


def test_cancel_is_answered():
    """Twice in a row, whatever the work does."""
    task = Task(lambda task: task.wait(60)).start()
    task.cancel()
    task.cancel()
    assert task.join(20) and isinstance(task.error, sideband.Cancelled)


def test_engine_that_is_not_there_is_one_sentence(opened, add, finish, errors, monkeypatch):
    from napari_sideband import _settings

    monkeypatch.setattr(_settings, "engine", lambda: {"cuda_module": "/no/such/module.so", "backend": "cuda"})
    fit = add(opened, FIT)
    fit.run()
    finish(fit)
    assert len(errors) == 1 and "/no/such/module.so" in errors[0] and errors[0].endswith(".")
    monkeypatch.setattr(_settings, "engine", lambda: {"backend": "cpu"})
    fit.run()
    finish(fit)
    assert fit.outcome is not None and len(errors) == 1
