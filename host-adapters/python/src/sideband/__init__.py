"""Sideband: aberrations and phase of 4D-STEM acquisitions by direct ptychography.

    import sideband
    result = sideband.run("columns_master.h5", semiangle=30)
    result.arrays["phase"], result.values["C10"], result.uncertainties["C10"], result.units["C10"]

Commands are functions (calibrate, fit, reconstruct, run, detector, simulate, ...) and methods of Acquisition; their
keywords, defaults and help are the library's own. NumPy is all that is needed.
"""

from ._acquisition import Acquisition
from ._commands import add_methods as _add_methods
from ._commands import functions as _functions
from ._errors import (ArgumentError, BackendError, Cancelled, DataError, Error, FileError, ForkedError, InternalError,
                      OutOfMemory, StateError)
from ._job import Job
from ._library import catalog, set_log
from ._library import lib as _lib
from ._library import text as _text
from ._result import Result, open_result
from ._session import Session, default_session
from ._sources import from_hyperspy, from_libertem, from_py4dstem

__version__ = _text(_lib.sb_version())
_add_methods()
_commands = _functions()
globals().update(_commands)

__all__ = ["Acquisition", "ArgumentError", "BackendError", "Cancelled", "DataError", "Error", "FileError", "ForkedError",
           "InternalError", "Job", "OutOfMemory", "Result", "Session", "StateError", "catalog", "default_session",
           "from_hyperspy", "from_libertem", "from_py4dstem", "open_result", "set_log", *_commands]
