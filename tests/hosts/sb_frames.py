"""An acquisition's frames through Sideband's C ABI, for scripts that compare them with what others read."""
import ctypes
import json
import os

import numpy as np

DTYPES = ["uint8", "uint16", "uint32", "int16", "int32", "float32", "float64"]


class View(ctypes.Structure):
    """sb_view of sideband.h."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("dtype", ctypes.c_int32), ("n_dims", ctypes.c_int32),
                ("shape", ctypes.c_int64 * 4), ("strides", ctypes.c_int64 * 4), ("data", ctypes.c_void_p)]


class Library:
    """Sideband with one session; Library(path).read(file, option=value ...)."""

    def __init__(self, path: str) -> None:
        self.lib = ctypes.CDLL(path)
        self.lib.sb_error_message.restype = self.lib.sb_data_info.restype = ctypes.c_char_p
        self.lib.sb_data_info.argtypes = self.lib.sb_data_free.argtypes = [ctypes.c_void_p]
        self.lib.sb_data_frames.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(View)]
        self.lib.sb_data_open.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
        log = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
        self.quiet = log(lambda level, message, user: None)
        self.lib.sb_log_set.argtypes = [log, ctypes.c_void_p]
        self.lib.sb_log_set(self.quiet, None)
        self.session = ctypes.c_void_p()
        assert self.lib.sb_session_new(ctypes.byref(self.session), None) == 0, self.lib.sb_error_message()

    def read(self, path: str, **options) -> tuple[dict, np.ndarray]:
        """What is known of the acquisition, and its frames [frame, row, col] in counts; AssertionError where refused."""
        data = ctypes.c_void_p()
        asked = json.dumps(options).encode()
        assert self.lib.sb_data_open(ctypes.byref(data), self.session, os.fsencode(path), asked) == 0, self.lib.sb_error_message()
        try:
            info = json.loads(self.lib.sb_data_info(data))["acquisition"]
            frames = np.zeros((info["frames"], *info["detector_shape"]), info["dtype"])
            view = View(ctypes.sizeof(View), DTYPES.index(info["dtype"]), 3, (ctypes.c_int64 * 4)(*frames.shape),
                        (ctypes.c_int64 * 4)(), frames.ctypes.data)
            assert self.lib.sb_data_frames(data, 0, len(frames), ctypes.byref(view)) == 0, self.lib.sb_error_message()
            return info, frames
        finally:
            self.lib.sb_data_free(data)

    def close(self) -> None:
        """Frees the session."""
        self.lib.sb_session_free(self.session)
