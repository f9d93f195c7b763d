"""Keywords, errors, progress, cancel and life of the package sideband: test_jobs.py CLI EXAMPLES"""
import os
import signal
import subprocess
import sys
import time

import numpy as np
from common import FILM, KNOWN, OPTICS, Lazy, film, raises, session, tiny
import tap

import sideband

# ---- keywords and errors ----

def test_keywords_and_help_come_from_the_catalog():
    import inspect

    for command in sideband.catalog()["commands"]:
        rows = {row["name"]: row for group in command["groups"] for row in group["rows"]}
        function = getattr(sideband, command["name"])
        parameters = inspect.signature(function).parameters
        for name, row in rows.items():
            name = "from_" if name == "from" else name
            assert parameters[name].default == row["default"], name
            assert row["help"] in function.__doc__ and row["title"] in function.__doc__, name
            assert f"{name} : " in function.__doc__
            assert not row["unit"] or row["unit"] in function.__doc__
    assert inspect.signature(sideband.Acquisition.run).parameters["semiangle"].default is None


def test_errors_are_sentences():
    acquisition = sideband.Acquisition(FILM, session=session())
    raises(sideband.ArgumentError, ["semiangel", '"semiangle"'], acquisition.run, semiangel=30)
    raises(sideband.ArgumentError, ["semiangel", '"semiangle"'], sideband.run, FILM, semiangel=30)
    raises(sideband.ArgumentError, ["semiangel", '"semiangle"'], sideband.run, film(), semiangel=30)
    raises(sideband.ArgumentError, ["threds", '"threads"'], sideband.Session, threds=2)
    raises(sideband.ArgumentError, ["rnu", '"run"'], sideband.Job, "rnu", acquisition)
    raises(sideband.ArgumentError, ["energy", "-3", "kV"], sideband.run, FILM, energy=-3)
    raises(sideband.ArgumentError, ["energy", "finite"], sideband.run, FILM, energy=float("nan"))
    raises(sideband.ArgumentError, ["energy", "object"], sideband.run, FILM, energy=object())
    raises(sideband.ArgumentError, ["C10", "number"], sideband.run, FILM, coefficients={"C10": "much"})
    raises(sideband.ArgumentError, ["semiangle"], sideband.run, FILM, session=session())
    raises(sideband.FileError, ["nowhere"], sideband.Acquisition, "/nowhere/at/all_master.h5")
    raises(sideband.ArgumentError, ["int64", "uint16"], sideband.Acquisition, np.zeros((4, 4, 8, 8), np.int64))
    raises(sideband.ArgumentError, ["complex64"], sideband.Acquisition, np.zeros((4, 4, 8, 8), np.complex64))
    raises(sideband.ArgumentError, ["scan_shape"], sideband.Acquisition, np.zeros((16, 8, 8), np.uint8))
    raises(sideband.ArgumentError, ["16", "9"], sideband.Acquisition, np.zeros((16, 8, 8), np.uint8), scan_shape=(3, 3))
    raises(sideband.ArgumentError, ["(8, 8)"], sideband.Acquisition, np.zeros((8, 8), np.uint8))
    raises(sideband.ArgumentError, ["masked"], sideband.Acquisition, np.ma.zeros((4, 4, 8, 8)))
    raises(sideband.ArgumentError, ["neither"], sideband.Acquisition, 7)
    raises(sideband.ArgumentError, ["detector_shape"], sideband.Acquisition, scan_shape=(4, 4), dtype="uint16")


def test_states_and_broken_arrays_are_sentences():
    live = sideband.Acquisition(session=session(), scan_shape=(4, 4), detector_shape=(8, 8), dtype="uint16", semiangle=20,
                                **OPTICS)
    raises(sideband.StateError, ["finish"], live.run)
    raises(sideband.ArgumentError, ["7"], live.push, np.zeros((1, 7, 8), np.uint16))
    raises(sideband.ArgumentError, ["float16"], live.push, np.zeros((1, 8, 8), np.float16))
    raises(sideband.StateError, ["file"], live.read, 0)
    raises(sideband.Error, ["frames"], live.finish)  # none was pushed
    job = sideband.Job("reconstruct", sideband.Acquisition(FILM, session=session()), **KNOWN)
    raises(sideband.StateError, [], job.poll)
    raises(sideband.StateError, ["reconstruct"], job.result)

    class Broken(Lazy):
        def __getitem__(self, index):
            raise RuntimeError("the disk went away.")

    text = raises(sideband.DataError, ["scan row 0", "disk went away"], sideband.Acquisition, Broken(tiny(), None),
                  session=session(), semiangle=20, **OPTICS)
    assert "RuntimeError" in text


def test_no_exception_is_a_runtimeerror():
    kinds = [kind for kind in vars(sideband).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(kinds) == 10 and all(issubclass(kind, sideband.Error) for kind in kinds)
    assert not any(issubclass(kind, RuntimeError) for kind in kinds)


# ---- progress and cancel ----

def test_progress_rises_to_one():
    told = []
    sideband.reconstruct(film(), session=session(), progress=lambda fraction, stage: told.append((fraction, stage)), **OPTICS,
                         **KNOWN)
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0, fractions
    assert told[0][1] == "read frames" and {stage for _, stage in told} > {"read frames", "done"}, told


def test_cancel_ends_within_half_a_second():
    acquisition = sideband.Acquisition(FILM, session=session())
    times = []
    for pause in (0.02, 0.3, 0.6):
        job = acquisition.start("fit", semiangle=30, trials=3000)
        time.sleep(pause)
        start = time.monotonic()
        job.cancel()
        raises(sideband.Cancelled, ["fit was cancelled"], job.wait)
        times.append(time.monotonic() - start)
        assert job.done
    print("# seconds from cancel to the end:", *("%.3f" % took for took in times))
    assert min(times) < 0.5 and max(times) < 5, times  # a busy machine may keep one of them waiting
    assert acquisition.reconstruct(**KNOWN).arrays["phase"].size  # usable after it


def test_an_exception_in_progress_cancels():
    class Enough(Exception):
        pass

    def report(fraction, stage):
        raise Enough("enough.")

    acquisition = sideband.Acquisition(FILM, session=session())
    start = time.monotonic()
    raises(Enough, ["enough"], acquisition.fit, semiangle=30, trials=3000, progress=report)
    assert time.monotonic() - start < 10  # the whole fit takes longer


def test_control_c_cancels():
    code = ("import sideband, sys, time\n"
            "def report(fraction, stage):\n"
            "    print(stage, flush=True)\n"
            "try:\n"
            "    sideband.fit(sys.argv[1], semiangle=30, trials=5000, progress=report)\n"
            "except KeyboardInterrupt:\n"
            "    print('interrupted', sideband.calibrate(sys.argv[1], semiangle=30).info['calibration'] != {}, flush=True)\n")
    child = subprocess.Popen([sys.executable, "-c", code, FILM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    child.stdout.readline()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0 and out.strip().endswith("interrupted True"), (out[-300:], err[-600:])


def test_python_runs_while_the_library_computes():
    acquisition = sideband.Acquisition(FILM, session=session())
    job, turns = acquisition.start("reconstruct", **KNOWN), 0
    while not job.poll():
        turns += 1
    assert turns > 20, turns
    assert job.preview("phase").shape == job.result().arrays["phase"].shape
    assert job.preview("mean_pattern").shape == (72, 72)
    raises(TimeoutError, ["goes on"], acquisition.start("fit", semiangle=30).wait, timeout=0.01)


# ---- life ----

def test_interpreters_end_cleanly_with_a_job_that_runs():
    code = ("import sideband, sys; a = sideband.Acquisition(sys.argv[1]); job = a.start('fit', semiangle=30, trials=5000);"
            "phase = sideband.Acquisition(sys.argv[1])")
    done = subprocess.run([sys.executable, "-c", code, FILM], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "", (done.returncode, done.stderr)


def test_a_forked_child_is_told_so():
    code = ("import os, sideband, sys\n"
            "a = sideband.Acquisition(sys.argv[1])\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    try:\n"
            "        a.reconstruct(semiangle=30)\n"
            "    except sideband.ForkedError:\n"
            "        sys.exit(7)\n"
            "    sys.exit(1)\n"
            "sys.exit(0 if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7 else 2)\n")
    done = subprocess.run([sys.executable, "-c", code, FILM], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (done.returncode, done.stderr)


def test_importing_it_imports_numpy_only():
    code = ("import sys; before = set(sys.modules); import numpy; import sideband;"
            "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before} - set(sys.stdlib_module_names)))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"numpy", "sideband", "_distutils_hack", "threadpoolctl"}, done.stdout


def test_memory_stays_flat():
    """Run 50 takes at most 2 % more than run 10."""
    code = ("import sideband, numpy as np, sys\n"
            "def resident():\n"
            "    return int(open('/proc/self/statm').read().split()[1])\n"
            "session, sizes = sideband.Session(backend='cpu', threads=1), []\n"
            "counts = np.random.default_rng(1).poisson(9, (12, 12, 24, 24)).astype(np.uint16)\n"
            "rows, cols = np.indices((24, 24)); counts[:, :, np.hypot(rows - 11.5, cols - 11.5) > 8] = 0\n"
            "for run in range(50):\n"
            "    result = sideband.reconstruct(counts, session=session, energy=300, step=0.4, semiangle=20, rotation=0,\n"
            "                                  orientation='identity', coefficients='C10=3')\n"
            "    phase = result.arrays['phase']\n"
            "    sizes.append(resident())\n"
            "print(sizes[9], sizes[49])\n")
    env = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    tenth, last = (int(n) for n in done.stdout.split())
    print("# pages after run 10 and 50:", tenth, last)
    assert last <= 1.02 * tenth, (tenth, last)


def test_remarks_reach_a_function():
    told = []
    sideband.set_log(lambda level, message: told.append((level, message)))
    sideband.reconstruct(FILM, session=session(), **KNOWN)
    sideband.set_log(None)
    count = len(told)
    assert any("reconstruct" in message for _, message in told), told
    sideband.reconstruct(FILM, session=session(), **KNOWN)
    assert len(told) == count


if __name__ == "__main__":
    sys.exit(tap.run(globals()))
