"""The wheel holds a library for one platform and no code for one Python: py3-none-PLATFORM."""
import glob
import os
import sysconfig

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformHook(BuildHookInterface):
    """Names the platform; refuses to build without the library."""

    def initialize(self, version, build_data):
        if version == "standard" and not glob.glob(os.path.join(self.root, "src", "sideband", "libsideband.so.*")):
            raise RuntimeError("This folder holds no libsideband: build with Meson and install BUILD/host-adapters/python/sideband.")
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + platform
