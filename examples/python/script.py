"""Fits an acquisition, prints what was found, and writes result and picture: script.py [ACQUISITION [FOLDER]]"""
import os
import sys

import sideband

here = os.path.dirname(os.path.abspath(__file__))
path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "acquisitions", "film_master.h5")
folder = sys.argv[2] if len(sys.argv) > 2 else "."

acquisition = sideband.Acquisition(path)
print(acquisition)
result = acquisition.run(semiangle=30, progress=sys.stderr.isatty())

for name, value in result.values.items():
    doubt = result.uncertainties[name]
    if doubt is not None and abs(value) > 3 * doubt:  # what is there beyond doubt
        print(f"{name:9} {value:12.4g} ± {doubt:.2g} {result.units[name]}")
for sentence in result.warnings:
    print("Note:", sentence)

# The same aberrations again, with another method, from the numbers in memory.
known = {name: value for name, value in result.values.items() if name.startswith(("C", "phi"))}
calibration = result.info["calibration"]
again = acquisition.reconstruct(semiangle=30, centre=calibration["centre"], rotation=calibration["rotation"],
                                orientation=calibration["orientation"], coefficients=known, method="ssb")
phase = again.arrays["phase"]
print(f"single sideband: {phase.shape[0]} x {phase.shape[1]} pixels, {phase.std():.4f} rad rms")

result.save(os.path.join(folder, "script_result.h5"))
result.save(os.path.join(folder, "script_phase.png"), "png")
