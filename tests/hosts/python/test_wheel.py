"""The wheel in a fresh virtual environment: test_wheel.py BUILD_WHEEL BUILD EXAMPLES"""
import glob
import os
import re
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap

BUILD_WHEEL, BUILD, EXAMPLES = (os.path.abspath(path) for path in sys.argv[1:4])
_folder = tempfile.TemporaryDirectory(prefix="sideband-wheel-")
FOLDER = _folder.name
ENV = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SIDEBAND", "MALLOC_"))}
_made = {}

# h5py from the index has an HDF5 of its own; both must work in one process, whoever came first.
BOTH = """
import sys, os, tempfile
for name in sys.argv[2:]:
    __import__(name)
import h5py, numpy as np, sideband
assert os.path.dirname(sideband.__file__).startswith(sys.prefix)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "own.h5")
    with h5py.File(path, "w") as file:
        file["numbers"] = np.arange(10)
    result = sideband.reconstruct(sys.argv[1], semiangle=30, rotation=0, orientation="identity", coefficients="C10=5.5")
    result.save(os.path.join(folder, "a_result.h5"))
    with h5py.File(path) as file:
        assert file["numbers"][3] == 3
    with h5py.File(os.path.join(folder, "a_result.h5")) as file:
        kinds = []
        file.visititems(lambda name, item: kinds.append(type(item).__name__))
    assert "Dataset" in kinds
    again = sideband.open_result(os.path.join(folder, "a_result.h5"))
    assert np.array_equal(again.arrays["phase"], result.arrays["phase"])
loaded = {line.split()[-1] for line in open("/proc/self/maps") if "libhdf5" in line and "_hl" not in line}
print(len(loaded))
"""


def run(*line):
    done = subprocess.run(line, capture_output=True, text=True, env=ENV, cwd=FOLDER)
    assert done.returncode == 0, (line[-3:], done.stdout[-500:], done.stderr[-1500:])
    return done.stdout


def wheel():
    if "wheel" not in _made:
        line = [sys.executable, BUILD_WHEEL, BUILD, os.path.join(FOLDER, "wheels")]
        done = subprocess.run(line, capture_output=True, text=True, env=ENV, cwd=FOLDER)
        assert done.returncode == 0, done.stderr[-1500:]
        _made["wheel"], = glob.glob(os.path.join(FOLDER, "wheels", "*.whl"))
    return _made["wheel"]


def fresh():
    """Python of an environment that holds nothing but the wheel, and NumPy and h5py of this one's versions."""
    if "fresh" not in _made:
        import h5py
        import numpy

        run(sys.executable, "-m", "venv", os.path.join(FOLDER, "venv"))
        python = os.path.join(FOLDER, "venv", "bin", "python")
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile",
                               "--retries", "1", "numpy==" + numpy.__version__, "h5py==" + h5py.__version__],
                              capture_output=True, text=True, env=ENV)
        if done.returncode != 0:
            raise tap.Skip("the Python package index does not answer")
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", wheel())
        _made["fresh"] = python
    return _made["fresh"]


def test_the_wheel_is_for_one_platform_and_any_python():
    assert re.fullmatch(r"sideband-[0-9.]+-py3-none-linux_\w+\.whl", os.path.basename(wheel())), wheel()
    names = zipfile.ZipFile(wheel()).namelist()
    assert {"sideband/libsideband.so.1", "sideband/needs.json", "sideband/py.typed"} <= set(names), names
    assert not any(name.startswith(("napari", "tests")) or name.endswith(".pyc") for name in names), names


def test_it_works_after_h5py():
    assert run(fresh(), "-c", BOTH, os.path.join(EXAMPLES, "acquisitions", "film_master.h5"), "h5py", "sideband").strip() == "2"


def test_it_works_before_h5py():
    assert run(fresh(), "-c", BOTH, os.path.join(EXAMPLES, "acquisitions", "film_master.h5"), "sideband", "h5py").strip() == "2"


def test_a_missing_library_is_named_with_its_package():
    """A wheel whose library needs what no system has: the sentence names it and the package of needs.json."""
    folder = os.path.dirname(run(fresh(), "-c", "import sideband; print(sideband.__file__)").strip())
    library, needs = os.path.join(folder, "libsideband.so.1"), os.path.join(folder, "needs.json")
    whole, listed = open(library, "rb").read(), open(needs, encoding="utf-8").read()
    try:
        open(library, "wb").write(whole.replace(b"libjansson.so.4\0", b"libjunsson.so.4\0"))
        open(needs, "w", encoding="utf-8").write('{"libjunsson.so.4": "libjunsson4"}')
        done = subprocess.run([fresh(), "-c", "import sideband"], capture_output=True, text=True, env=ENV, cwd=FOLDER)
        last = done.stderr.strip().splitlines()[-1]
        assert last.startswith("ImportError: ") and "apt-get install libjunsson4" in last and last.endswith("."), last
    finally:
        open(library, "wb").write(whole)
        open(needs, "w", encoding="utf-8").write(listed)


def test_another_abi_is_refused_in_one_sentence():
    code = "import sideband._capi as c"
    folder = os.path.dirname(run(fresh(), "-c", "import sideband; print(sideband.__file__)").strip())
    path = os.path.join(folder, "_capi.py")
    text = open(path, encoding="utf-8").read()
    try:
        open(path, "w", encoding="utf-8").write(text.replace("ABI_VERSION = 1\n", "ABI_VERSION = 99\n"))
        os.link(os.path.join(folder, "libsideband.so.1"), os.path.join(folder, "libsideband.so.99"))
        done = subprocess.run([fresh(), "-c", code], capture_output=True, text=True, env=ENV, cwd=FOLDER)
        last = done.stderr.strip().splitlines()[-1]
        assert "has ABI 1, this package was made for 99" in last and last.endswith("."), last
    finally:
        open(path, "w", encoding="utf-8").write(text)
        os.unlink(os.path.join(folder, "libsideband.so.99"))


def test_the_examples_run():
    examples = os.path.join(EXAMPLES, "python")
    out = run(fresh(), os.path.join(examples, "script.py"), os.path.join(EXAMPLES, "acquisitions", "film_master.h5"), FOLDER)
    assert re.search(r"^C10 +5\.[3-7]\d* ± 0\.\d+ nm$", out, re.MULTILINE), out  # the specimen's truth is 5.5 nm
    assert os.path.exists(os.path.join(FOLDER, "script_result.h5")) and os.path.exists(os.path.join(FOLDER, "script_phase.png"))
    out = run(fresh(), os.path.join(examples, "notebook.py"))
    assert "(150, 150) float32 rad" in out and "seen so far: 2500 frames" in out, out


if __name__ == "__main__":
    sys.exit(tap.run(globals()))
