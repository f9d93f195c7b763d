#!/bin/bash
# Lines of the readers that the corpora reach. coverage.sh BUILD_FOLDER [CORPORA]; CORPORA: one folder a target, as
# tests/fuzz/corpus. Fails below 85 % in all; names each file below 85 %, and with SHOW=1 the lines that none reaches.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: coverage.sh BUILD_FOLDER [CORPORA]} corpora=${2:-$here/corpus}
version=$(clang -dumpversion | cut -d. -f1)
tool() { command -v "$1-$version" || command -v "$1"; }
flags='-fprofile-instr-generate -fcoverage-mapping'
[ -f "$build/build.ninja" ] || CC=clang meson setup "$build" "$here/../.." -Dcuda=disabled -Dimagej=disabled -Dmpi=disabled \
  -Dnapari=disabled -Dbuildtype=debug "-Dc_args=$flags" "-Dc_link_args=$flags" >/dev/null
objects=() raw=$(mktemp -d)
export LLVM_PROFILE_FILE=$raw/unused # of programs that the build runs
trap 'rm -rf "$raw"' EXIT
targets=$(ls "$corpora" | grep -v '^abi')
ninja -C "$build" $(printf 'tests/fuzz/replay_%s\n' $targets) >/dev/null
for target in $targets; do
  LLVM_PROFILE_FILE=$raw/$target.raw "$build/tests/fuzz/replay_$target" "$corpora/$target" >/dev/null || echo "$target: failed"
  # what machines without AVX2 run
  [ "$target" != chunk ] || SIDEBAND_ISA=plain LLVM_PROFILE_FILE=$raw/plain.raw "$build/tests/fuzz/replay_chunk" "$corpora/chunk" \
    >/dev/null || echo "chunk without AVX2: failed"
  [ ${#objects[@]} = 0 ] || objects+=(-object)
  objects+=("$build/tests/fuzz/replay_$target")
done
"$(tool llvm-profdata)" merge -o "$raw/all" "$raw"/*.raw
cd "$here/../.."
# what writes results (write_*, h5image) reads nothing
files=$(ls "$PWD"/core/formats/*.c "$PWD"/core/h5*.c "$PWD"/core/{npyarray,zipfile,tagtree,flatfile,chunk,bitshuffle}.c |
  grep -v -e /write_ -e h5image)
# not by the names of the files: a build outside the tree records them by another path
[ -z "${SHOW:-}" ] || "$(tool llvm-cov)" show "${objects[@]}" -instr-profile "$raw/all" | FILES=$files awk -F/ '
  BEGIN { n = split(ENVIRON["FILES"], all, "\n"); for (i = 1; i <= n; i++) wanted[all[i]] = 1 }
  /^\/.*:$/ { path = substr($0, 1, length($0) - 1); m = split(path, part, "/"); full = ""; for (i = 2; i <= m; i++) {
      if (part[i] == "..") sub(/\/[^\/]*$/, "", full); else full = full "/" part[i] } is_wanted = full in wanted; name = full; said = 0 }
  is_wanted && /^ +[0-9]+\| +0\|/ { if (!said++) print name ":"; print }'
"$(tool llvm-cov)" export -summary-only "${objects[@]}" -instr-profile "$raw/all" $files | python3 -c '
import json, os, sys
files = json.load(sys.stdin)["data"][0]["files"]
total = [0, 0]
for f in files:
    name = os.path.realpath(f["filename"])
    if name not in sys.argv[1:]:
        continue
    lines = f["summary"]["lines"]
    total = [total[0] + lines["covered"], total[1] + lines["count"]]
    note = "  below 85 %" if lines["percent"] < 85 else ""
    print("%5d of %5d  %5.1f %%  %s%s" % (lines["covered"], lines["count"], lines["percent"], os.path.relpath(name), note))
print("%5d of %5d  %5.1f %%  all" % (*total, 100 * total[0] / total[1]))
sys.exit(total[0] < 0.85 * total[1])' $files
