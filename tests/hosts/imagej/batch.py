"""ImageJ as a program: macros in its own process, with and without a display, in other countries, with parts missing."""
import glob
import os
import re
import shutil
import subprocess
import zipfile


class Tap:
    def __init__(self):
        self.count = self.failures = 0

    def check(self, right, name, text=""):
        self.count += 1
        self.failures += not right
        print(("ok" if right else "not ok") + f" {self.count} - {name}")
        if not right:
            print("# " + text.strip().replace("\n", "\n# "))

    def skip(self, name, reason):
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {reason}")

    def end(self):
        print(f"1..{self.count}")
        return 1 if self.failures else 0


def call(line, **more):
    """All that it says, and whether it came to an end."""
    try:
        done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False, **more)
        return done.stdout.decode("utf-8", "replace")
    except subprocess.TimeoutExpired as problem:
        return "TIMEOUT " + (problem.stdout or b"").decode("utf-8", "replace")


class Batch:
    def __init__(self, options, folder, java_line, in_display):
        self.options, self.folder = options, folder
        self.java_line, self.in_display = java_line, in_display
        self.acquisitions = os.path.join(options.examples, "acquisitions")

    def write(self, text):
        path = os.path.join(self.folder, "test.ijm")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def macro(self, path, argument="", display=True, extra=(), env=None):
        """-batch of a macro file."""
        line = self.java_line(self.options, self.folder, headless=not display,
                              class_path=[] if display else [self.options.plugin])
        line = line[:1] + list(extra) + line[1:] + ["ij.ImageJ", "-batch", path, argument]
        return call(self.in_display(line) if display else line, env=env)


def copy_five(batch):
    """Five acquisitions, the third cut short."""
    folder = os.path.join(batch.folder, "Fünf Aufnahmen [1]")
    os.mkdir(folder)
    for k in range(1, 6):
        for name in os.listdir(batch.acquisitions):
            if name.startswith("columns") and name.endswith(".h5"):
                target = os.path.join(folder, f"nr{k}")
                os.makedirs(target, exist_ok=True)
                shutil.copy(os.path.join(batch.acquisitions, name), target)
    with open(os.path.join(folder, "nr3", "columns_master.h5"), "r+b") as file:
        file.truncate(500)
    return folder


def examples(tap, batch):
    macros = os.path.join(batch.options.examples, "imagej")
    master = os.path.join(batch.acquisitions, "columns_master.h5")
    said = batch.macro(os.path.join(macros, "one_file.ijm"), master)
    tap.check("C10 = 6.0" in said and "columns phase 150 x 150" in said, "example one_file.ijm", said)
    said = batch.macro(os.path.join(macros, "defocus_series.ijm"), master)
    tap.check("best C10: 6 nm" in said, "example defocus_series.ijm", said)
    said = batch.macro(os.path.join(macros, "open_stack.ijm"), master)
    tap.check("columns phase 150 x 150" in said, "example open_stack.ijm", said)
    said = batch.macro(os.path.join(macros, "headless.ijm"), master, display=False)
    tap.check("C10 = 6.0" in said, "example headless.ijm, without a display", said)
    folder = copy_five(batch)
    said = batch.macro(os.path.join(macros, "folder.ijm"), folder + "/")
    tap.check("4 done, 1 failed" in said and said.count("error: ") == 1 and "nr3" in said,
              "a folder of five, one broken: four done, one line for the fifth", said)
    table = os.path.join(folder, "fits.csv")
    lines = open(table, encoding="utf-8").read().splitlines() if os.path.exists(table) else []
    tap.check(len(lines) == 5 and len({line.split(",")[1] for line in lines[1:]}) == 1, "its table: four rows, equal fits",
              "\n".join(lines))
    tap.check(os.path.exists(os.path.join(folder, "phases.tif")), "its stack of phases")


def countries(tap, batch):
    places = os.path.join(batch.folder, "locale")
    os.mkdir(places)
    try:
        subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", os.path.join(places, "de_DE.UTF-8")], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        tap.skip("a German locale", "localedef cannot make de_DE")
        return
    master = os.path.join(batch.acquisitions, "columns_master.h5")
    path = batch.write('r = call("sideband.Sideband_.run", "reconstruct", "input=[' + master + '] semiangle=30.0 '
                       'sampling=0.983 rotation=0.5 coefficients=[C10=6.25]");\n'
                       'print(call("sideband.Sideband_.get", "values.C10.value"), getWidth());\n'
                       'print(call("sideband.Sideband_.get", "parameters.rotation"));')
    env = dict(os.environ, LOCPATH=places, LC_ALL="de_DE.UTF-8")
    said = batch.macro(path, display=False, env=env, extra=["-Duser.language=de", "-Duser.country=DE"])
    tap.check("6.25 150" in said and "0.5" in said.splitlines(), "a German locale: points stay points", said)


def missing(tap, batch):
    version = batch.write('print("version: " + call("sideband.Sideband_.version"));\n'
                          'print("again: " + call("sideband.Sideband_.version"));')
    said = batch.macro(version, display=False, extra=["-Dos.arch=sparc"])
    tap.check(said.count("no native library for this platform (linux-sparc)") == 2 and "Exception" not in said,
              "another platform: one sentence, each time", said)
    said = batch.macro(version, display=False, extra=["-Dsideband.native=/no/such.so"])
    tap.check("named by -Dsideband.native cannot be loaded" in said, "a wrong -Dsideband.native: one sentence", said)
    line = batch.java_line(batch.options, batch.folder, headless=True, class_path=[batch.options.plugin])
    line = [word.replace("-Djava.io.tmpdir=" + batch.folder, "-Djava.io.tmpdir=/proc") for word in line]
    said = call(line + ["ij.ImageJ", "-batch", version])
    tap.check("-Djava.io.tmpdir=FOLDER" in said, "a folder that cannot be written: the way out", said)


def endings(tap, batch):
    path = batch.write('run("Sideband Run...", "input=[/no/file.h5] semiangle=30");\nprint("went on");')
    said = batch.macro(path)
    tap.check("/no/file.h5" in said and "went on" not in said and "TIMEOUT" not in said,
              "-batch: an error ends the macro with a sentence, no dialog waits", said)
    path = batch.write('run("Sideband Run...");\nprint("went on");')
    said = batch.macro(path)
    tap.check("There are no images open" in said and "TIMEOUT" not in said, "-batch: no options, no dialog", said)
    path = batch.write('run("Sideband Help");\nrun("About Sideband...");\nprint("went on");')
    said = batch.macro(path)
    tap.check("went on" in said and "Ext.Sideband_run" in said and "Cite" in said, "-batch: Help and About print", said)


def jar(tap, batch):
    with zipfile.ZipFile(batch.options.plugin) as archive:
        names = archive.namelist()
        versions = {archive.read(name)[7] for name in names if name.endswith(".class")}
    tap.check(versions == {52}, "every class runs on Java 8", str(versions))
    tap.check(all(name.startswith(("META-INF/", "sideband/")) or name == "plugins.config" for name in names),
              "nothing else in the jar", str(names))
    left = [name for name in os.listdir(batch.folder) if name.startswith("sideband-ij-")]
    tap.check(not left, "no copy of the native library is left behind", str(left))


def names(tap, batch):
    """Names and defaults come from the catalog: Java spells only those that sideband.h itself tells a host to give."""
    catalog = batch.macro(batch.write('print(call("sideband.Sideband_.catalog"));'), display=False)
    rows = set(re.findall(r'"name":"([a-z_]+)","title":"[^"]*","unit"', catalog))
    words = set()
    for path in glob.glob(os.path.join(batch.options.sources, "*.java")):
        with open(path, encoding="utf-8") as file:
            words |= set(re.findall(r'"([a-z_0-9]+)"', file.read()))
    tap.check(len(rows) > 20, "the catalog is there", catalog[:300])
    extra = (words & rows) - {"scan_shape", "detector_shape", "dtype", "output"}
    # these are keys of what the library says of arrays and acquisitions, too
    tap.check(not extra - {"shape", "step", "sampling"}, "no parameter's name in Java", str(extra))


def run(options, folder, java_line, in_display):
    tap = Tap()
    batch = Batch(options, folder, java_line, in_display)
    for part in (examples, countries, missing, endings, names, jar):
        part(tap, batch)
    return tap.end()
