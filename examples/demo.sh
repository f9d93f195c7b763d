#!/bin/sh
# One acquisition, then a loop over several that collects a table (CSV) of what was fitted.
#
#   examples/demo.sh [FOLDER]     results go to FOLDER (default: results)
#
# SIDEBAND names the command where it is not on the path; SEMIANGLE the aperture in mrad.
set -eu

sideband=${SIDEBAND:-sideband}
semiangle=${SEMIANGLE:-30}
results=${1:-results}
acquisitions=$(dirname "$0")/acquisitions
mkdir -p "$results"

# 1. One file: a table on the terminal, the image and the numbers in files.
"$sideband" run "$acquisitions/columns_master.h5" --semiangle "$semiangle" --output "$results/"

# 2. A series: one line a file. --json gives the numbers to other programs.
csv=$results/fits.csv
echo 'file,agreement,C10_nm,error_nm,defocus_nm' >"$csv"
for file in "$acquisitions"/*_master.h5; do
  "$sideband" fit "$file" --semiangle "$semiangle" --output "$results/" --json --quiet |
    python3 -c '
import csv, json, os, sys
info = json.load(sys.stdin)
c10 = info["values"]["C10"]
csv.writer(sys.stdout, lineterminator="\n").writerow(
    [os.path.basename(sys.argv[1]), info["agreement"], c10["value"], c10["error"], c10["defocus"]])
' "$file" >>"$csv"
done
cat "$csv"

# 3. The same run again, from what the result carries.
"$sideband" show "$results/columns_fit.json"
"$sideband" reconstruct "$acquisitions/columns_master.h5" --params "$results/columns_fit.json" \
  --from "$results/columns_fit.json" --method ssb --output "$results/columns_ssb"
