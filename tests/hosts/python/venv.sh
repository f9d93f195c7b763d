#!/bin/sh
# A virtual environment for tests: venv.sh [--slow] FOLDER REQUIREMENTS [PROGRAM ARGUMENT...]
# Makes it in FOLDER/venv-<hash of the pins and the Python> unless it is there, then runs PROGRAM in it, else prints its
# Python. Where it cannot be made, the test is skipped with the reason (TAP); with --slow also without SIDEBAND_SLOW=1.
set -eu

skip () {
  echo "1..0 # SKIP $1"
  exit 0
}

if [ "$1" = --slow ]; then
  [ -n "${SIDEBAND_SLOW:-}" ] || skip 'slow; SIDEBAND_SLOW=1 runs it'
  shift
fi
folder=$1 requirements=$2
shift 2
python=${PYTHON:-python3}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip 'the packages need Python 3.10'
hash=$({ cat "$requirements"; "$python" --version; } | sha256sum | cut -c1-12)
venv=$folder/venv-$hash
mkdir -p "$folder"
(
  flock 9  # tests start side by side
  [ -f "$venv/whole" ] && exit 0
  rm -rf "$venv"
  "$python" -m venv "$venv" >"$venv.log" 2>&1 || exit 3
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --retries 1 --timeout 30 \
    -r "$requirements" >"$venv.log" 2>&1 || exit 4
  touch "$venv/whole"
) 9>"$venv.lock" || case $? in
  3) skip 'no virtual environment can be made; install the package python3-venv' ;;
  *)
    if grep -Eq 'No matching distribution|ConnectionError|Failed to establish|timed out|name resolution|unreachable' "$venv.log"
    then skip "the Python package index does not answer or lacks a package: $(grep -E 'ERROR' "$venv.log" | tail -n 1 | cut -c1-160)"
    fi
    printf '1..1\nnot ok 1 - make the virtual environment\n'
    sed 's/^/# /' "$venv.log" | tail -n 40
    exit 1 ;;
esac
if [ $# -eq 0 ]; then
  echo "$venv/bin/python"
else
  exec "$venv/bin/python" "$@"
fi
