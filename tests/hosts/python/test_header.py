"""The binding against the public header, as another parser reads it: test_header.py HEADER LIBRARY"""
import ctypes
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import cffi
import pycparser
import tap
from pycparser import c_ast

from sideband import _capi, _library

HEADER, LIBRARY = sys.argv[1:3]


def preprocessed():
    """The header without what it includes."""
    text = re.sub(r"^#include.*$", "", open(HEADER, encoding="utf-8").read(), flags=re.MULTILINE)
    return subprocess.run(["cc", "-E", "-P", "-U__GNUC__", "-x", "c", "-"], input=text, capture_output=True, text=True,
                          check=True).stdout


TEXT = preprocessed()
KNOWN = "typedef unsigned long size_t; typedef int int32_t; typedef long int64_t;"
TREE = pycparser.CParser().parse(KNOWN + TEXT)
FFI = cffi.FFI()
FFI.cdef(TEXT)

HANDLES = {"sb_session", "sb_data", "sb_job", "sb_result"}
PLAIN = {"int": ctypes.c_int, "double": ctypes.c_double, "int64_t": ctypes.c_int64, "void": None,
         "sb_log_function": _capi.LogFunction}


def ctype(node):
    """What ctypes must say for a type of the header."""
    stars = 0
    while isinstance(node, c_ast.PtrDecl):
        node, stars = node.type, stars + 1
    name = " ".join(node.type.names)
    if stars == 0:
        return PLAIN[name]
    if name == "char":
        return {1: ctypes.c_char_p, 2: ctypes.POINTER(ctypes.c_char_p)}[stars]
    if name == "sb_view":
        return {1: ctypes.POINTER(_capi.View)}[stars]
    assert name in HANDLES or name == "void", name
    return {1: ctypes.c_void_p, 2: ctypes.POINTER(ctypes.c_void_p)}[stars]


def functions():
    for item in TREE.ext:
        if isinstance(item, c_ast.Decl) and isinstance(item.type, c_ast.FuncDecl):
            arguments = [ctype(argument.type) for argument in item.type.args.params] if item.type.args else []
            yield item.name, (ctype(item.type.type), [a for a in arguments if a is not None])


def test_every_function_is_bound_with_its_types():
    declared = dict(functions())
    assert len(declared) > 25, len(declared)
    assert set(declared) == set(_capi.FUNCTIONS), set(declared) ^ set(_capi.FUNCTIONS)
    for name, (result, arguments) in declared.items():
        assert _capi.FUNCTIONS[name] == (result, arguments), (name, _capi.FUNCTIONS[name], (result, arguments))
        bound = getattr(_library.lib, name)
        assert bound.restype == result and list(bound.argtypes) == arguments, name


def test_the_library_exports_what_is_bound():
    listed = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r" T (sb_\w+)", listed)) == set(_capi.FUNCTIONS)


def test_the_view_has_the_same_layout():
    assert FFI.sizeof("sb_view") == ctypes.sizeof(_capi.View)
    fields = dict(FFI.typeof("sb_view").fields)
    assert list(fields) == [name for name, _ in _capi.View._fields_]
    for name, field in fields.items():
        ours = getattr(_capi.View, name)
        assert (field.offset, FFI.sizeof(field.type)) == (ours.offset, ours.size), name


def test_enumerations_have_the_same_values():
    for kind, ours, prefix in (("sb_status", _capi.Status, "SB_"), ("sb_dtype", _capi.Dtype, "SB_DTYPE_")):
        theirs = {name: number for number, name in FFI.typeof(kind).elements.items()}
        assert theirs == {prefix + member.name: member.value for member in ours}, kind


def test_the_log_function_has_the_same_type():
    theirs = FFI.typeof("sb_log_function")
    assert theirs.result.cname == "void" and [a.cname for a in theirs.args] == ["int", "char *", "void *"]
    assert _capi.LogFunction._restype_ is None
    assert list(_capi.LogFunction._argtypes_) == [ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p]


def test_the_abi_number_is_the_headers():
    number = re.search(r"^#define SB_ABI_VERSION (\d+)", open(HEADER, encoding="utf-8").read(), re.MULTILINE)
    assert int(number[1]) == _capi.ABI_VERSION == _library.lib.sb_abi_version()


def test_every_status_has_an_exception_and_none_is_a_runtimeerror():
    import sideband

    for status in _capi.Status:
        if status in (_capi.Status.OK, _capi.Status.RUNNING):
            continue
        problem = sideband._errors.error_of(status, "x")
        assert problem.status == status and isinstance(problem, sideband.Error) and not isinstance(problem, RuntimeError)


if __name__ == "__main__":
    sys.exit(tap.run(globals()))
