"""The C interface, plugin/sideband.h, as ctypes declares it. A test compares every line with the header."""

from __future__ import annotations

import ctypes
import enum
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_void_p
from typing import Any

import numpy as np

ABI_VERSION = 1


class Status(enum.IntEnum):
    """sb_status"""

    OK = 0
    CANCELLED = 1
    ARGUMENT = 2
    DATA = 3
    IO = 4
    MEMORY = 5
    BACKEND = 6
    FORKED = 7
    STATE = 8
    INTERNAL = 9
    RUNNING = 10


class Dtype(enum.IntEnum):
    """sb_dtype"""

    U8 = 0
    U16 = 1
    U32 = 2
    I16 = 3
    I32 = 4
    F32 = 5
    F64 = 6


class View(ctypes.Structure):
    """sb_view"""

    _fields_ = [("struct_size", ctypes.c_size_t), ("dtype", ctypes.c_int32), ("n_dims", ctypes.c_int32),
                ("shape", c_int64 * 4), ("strides", c_int64 * 4), ("data", c_void_p)]


LogFunction = ctypes.CFUNCTYPE(None, c_int, c_char_p, c_void_p)

_VIEW = POINTER(View)
_OUT = POINTER(c_void_p)

# name: (result, arguments)
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "sb_version": (c_char_p, []),
    "sb_abi_version": (c_int, []),
    "sb_catalog": (c_char_p, []),
    "sb_error_message": (c_char_p, []),
    "sb_log_set": (None, [LogFunction, c_void_p]),
    "sb_session_new": (c_int, [_OUT, c_char_p]),
    "sb_session_rank": (c_int, [c_void_p]),
    "sb_session_free": (None, [c_void_p]),
    "sb_data_open": (c_int, [_OUT, c_void_p, c_char_p, c_char_p]),
    "sb_data_new": (c_int, [_OUT, c_void_p, c_char_p]),
    "sb_data_push": (c_int, [c_void_p, c_int64, c_int64, _VIEW]),
    "sb_data_finish": (c_int, [c_void_p]),
    "sb_data_info": (c_char_p, [c_void_p]),
    "sb_data_frames": (c_int, [c_void_p, c_int64, c_int64, _VIEW]),
    "sb_data_preview": (c_int, [c_void_p, c_char_p, _VIEW]),
    "sb_data_free": (None, [c_void_p]),
    "sb_job_new": (c_int, [_OUT, c_void_p, c_char_p, c_void_p, c_char_p]),
    "sb_job_start": (c_int, [c_void_p]),
    "sb_job_wait": (c_int, [c_void_p, c_int]),
    "sb_job_progress": (c_double, [c_void_p, POINTER(c_char_p)]),
    "sb_job_cancel": (None, [c_void_p]),
    "sb_job_preview": (c_int, [c_void_p, c_char_p, _VIEW]),
    "sb_job_error": (c_char_p, [c_void_p]),
    "sb_job_result": (c_void_p, [c_void_p]),
    "sb_job_free": (None, [c_void_p]),
    "sb_result_info": (c_char_p, [c_void_p]),
    "sb_result_array": (c_int, [_VIEW, c_void_p, c_char_p]),
    "sb_result_save": (c_int, [c_void_p, c_char_p, c_char_p]),
    "sb_result_open": (c_int, [_OUT, c_char_p]),
    "sb_result_free": (None, [c_void_p]),
}

_NUMPY = {Dtype.U8: "uint8", Dtype.U16: "uint16", Dtype.U32: "uint32", Dtype.I16: "int16", Dtype.I32: "int32",
          Dtype.F32: "float32", Dtype.F64: "float64"}
_DTYPES = {np.dtype(name): code for code, name in _NUMPY.items()}
DTYPE_NAMES = tuple(_NUMPY.values())


def declare(library: ctypes.CDLL) -> None:
    """Gives every function of the interface its types."""
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


def empty_view() -> View:
    """A view for the library to fill."""
    view = View()
    view.struct_size = ctypes.sizeof(View)
    return view


def view_of(array: np.ndarray) -> View:
    """The view of an array of at most four axes and one of DTYPE_NAMES; the caller keeps the array."""
    view = empty_view()
    view.dtype = _DTYPES[array.dtype]
    view.n_dims = array.ndim
    view.shape[:array.ndim] = array.shape
    view.strides[:array.ndim] = array.strides
    view.data = array.ctypes.data
    return view


def array_of(view: View, owner: Any) -> np.ndarray:
    """A read-only array over the library's memory, which lives as long as `owner`."""
    shape = tuple(view.shape[:view.n_dims])
    dtype = np.dtype(_NUMPY[Dtype(view.dtype)])
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if size == 0:
        array = np.empty(shape, dtype)
    else:
        memory = (ctypes.c_char * size).from_address(view.data)
        memory.owner = owner  # what NumPy keeps as the base of the array keeps the library's object
        array = np.frombuffer(memory, dtype).reshape(shape)
    array.flags.writeable = False
    return array
