#!/usr/bin/env python3
"""The library's file against its header, as TAP: interface.py LIBRARY HEADER BUILD_FOLDER MESON SANITIZERS

Exported symbols are exactly the functions marked SB_API; the header compiles as strict C11 and as C++; a consumer builds
against the installed pkg-config file and runs; hosts may unload the library without harm.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

library, header, build, meson, sanitizers = sys.argv[1:6]
count = 0
failed = 0


def check(name, good, why=""):
    global count, failed
    count += 1
    failed += not good
    for line in str(why).splitlines() if not good else []:
        print("#", line)
    print(f"{'ok' if good else 'not ok'} {count} {name}")


def skip(name, why):
    global count
    count += 1
    print(f"ok {count} {name} # SKIP {why}")


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    return done.returncode, done.stdout


def declared():
    with open(header, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    text = re.sub(r"^#.*$", "", text, flags=re.M)
    return set(re.findall(r"\bSB_API\b[^;(]*?\b(sb_\w+)\s*\(", text)), set(re.findall(r"\b(sb_\w+)\s+\(", text))


def symbols():
    marked, called = declared()
    check("every function of the header is marked SB_API", len(marked) >= 28 and called <= marked, called - marked)
    rc, text = run("nm", "-D", "--defined-only", library)
    exported = {line.split()[-1].split("@")[0] for line in text.splitlines()}
    check("exported symbols are exactly the header's", rc == 0 and exported == marked,
          f"missing: {sorted(marked - exported)}\nsurplus: {sorted(exported - marked)}")


def dynamic():
    rc, text = run("readelf", "-dW", library)
    with open(header, encoding="utf-8") as file:
        abi = re.search(r"^#define SB_ABI_VERSION (\d+)$", file.read(), re.M)[1]
    check("the soname carries the ABI number", f"[libsideband.so.{abi}]" in text, text)
    check("the library stays when a host unloads it", "NODELETE" in text, text)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
    check("no OpenMP and no GObject come along", rc == 0 and needed and not [
        n for n in needed if re.match(r"lib(gomp|omp|iomp5|gobject)", n)], needed)


def compiles():
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-pedantic-errors", "-Werror", "-fsyntax-only", "-I", os.path.dirname(header)]
    source = '#include <sideband.h>\n#include "sideband.h"\nint main (void) { return sb_abi_version () == SB_ABI_VERSION; }\n'
    for name, command in (("C11", ["cc", "-std=c11", "-Wstrict-prototypes", "-x", "c"]),
                          ("C99", ["cc", "-std=c99", "-Wstrict-prototypes", "-x", "c"]),
                          ("C++98", ["c++", "-std=c++98", "-Wno-long-long", "-Wno-variadic-macros", "-x", "c++"]),
                          ("C++17", ["c++", "-std=c++17", "-x", "c++"])):
        if shutil.which(command[0]) is None:
            skip(f"the header is {name}", f"there is no {command[0]}")
            continue
        rc, text = run(*command, *flags, "-", input=source)
        check(f"the header is {name}", rc == 0, text)


CONSUMER = r"""
#include <sideband.h>
#include <stdio.h>
#include <string.h>
int
main (void)
{
  sb_session *session = NULL;
  if (sb_session_new (&session, "{\"threads\": 1}") != SB_OK)
    return 1;
  sb_session_free (session);
  if (sb_session_new (&session, "{\"thread\": 1}") != SB_ARGUMENT || strstr (sb_error_message (), "threads") == NULL)
    return 2;
  puts (sb_version ());
  return sb_abi_version () == SB_ABI_VERSION ? 0 : 3;
}
"""


def consumer():
    name = "a consumer builds against the installed pkg-config file and runs"
    if sanitizers != "none":
        return skip(name, "the build has sanitizers")
    with tempfile.TemporaryDirectory() as root:
        rc, text = run(meson, "install", "--no-rebuild", "--quiet", "--destdir", root, "-C", build)
        pc = [folder for folder, _, files in os.walk(root) if "sideband.pc" in files]
        if rc != 0 or not pc:
            return check(name, False, text + "no sideband.pc was installed")
        environment = dict(os.environ, PKG_CONFIG_PATH=pc[0], PKG_CONFIG_SYSROOT_DIR=root)
        rc, flags = run("pkg-config", "--cflags", "--libs", "sideband", env=environment)
        rc2, version = run("pkg-config", "--modversion", "sideband", env=environment)
        if rc or rc2:
            return check(name, False, flags)
        target = os.path.join(root, "consumer")
        rc, text = run("cc", "-std=c11", "-Wall", "-Werror", "-x", "c", "-", "-o", target, "-x", "none", *flags.split(),
                       input=CONSUMER)
        if rc != 0:
            return check(name, False, text)
        folder = next(flag[2:] for flag in flags.split() if flag.startswith("-L"))
        rc, text = run(target, env=dict(os.environ, LD_LIBRARY_PATH=folder))
        check(name, rc == 0 and text == version, f"exit {rc}: {text}, pkg-config says {version}")


symbols()
dynamic()
compiles()
consumer()
print(f"1..{count}")
sys.exit(failed > 0)
