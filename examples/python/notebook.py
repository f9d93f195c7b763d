# %% [markdown]
# # From counts in memory to a phase image
# Cells end at `# %%`: Jupyter (with jupytext), Spyder and editors run them one by one.

# %%
import os

import numpy as np

import sideband

here = os.path.dirname(os.path.abspath(__file__)) if "__file__" in globals() else "."
path = os.path.join(here, "..", "acquisitions", "columns_master.h5")

# %% [markdown]
# A file says most of what it is itself. `read` gives its frames as they are stored.

# %%
file = sideband.Acquisition(path)
facts = file.info["acquisition"]
frames = file.read(0, file.frames)
cube = frames.reshape(*file.scan_shape, *file.detector_shape)
print(cube.shape, cube.dtype, facts["energy"], "kV,", facts["step"], "Å")

# %% [markdown]
# An array knows nothing: say the optics. Any array will do (dask, h5py, zarr); it is read once, two blocks at a time.

# %%
acquisition = sideband.Acquisition(cube, energy=facts["energy"], step=facts["step"], semiangle=30)
fit = acquisition.fit()
print({name: f"{fit.values[name]:.3g} {fit.units[name]}" for name in ("C10", "C12", "depth")})

# %% [markdown]
# The fit is handed to the reconstruction as it is; `from_` has an underscore because `from` is a word of Python.

# %%
image = acquisition.reconstruct(from_=fit)
phase = image.arrays["phase"]
step = next(array["step"] for array in image.info["arrays"] if array["name"] == "phase")
print(phase.shape, phase.dtype, "rad;", step[0], "nm per pixel")

# %% [markdown]
# Frames as they come: push them, look, finish.

# %%
live = sideband.Acquisition(scan_shape=file.scan_shape, detector_shape=file.detector_shape, dtype=file.dtype,
                            energy=facts["energy"], step=facts["step"], semiangle=30)
for row in cube:
    live.push(row)
print("seen so far:", live.pushed, "frames, mean", live.preview("mean_pattern").mean())
live.finish()
same = live.reconstruct(from_=fit)
assert np.array_equal(same.arrays["phase"], phase)

# %% [markdown]
# A virtual detector is another command, with a mask of your own if you like.

# %%
rows, cols = np.indices(file.detector_shape)
mask = np.hypot(rows - 36, cols - 36) < 20
disk = file.detector(shape="mask", mask=mask, semiangle=30)
print({name: array.shape for name, array in disk.arrays.items()})
