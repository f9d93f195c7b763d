#!/bin/sh
# The source as CONTRIBUTING.md says it is: laid out by clang-format 14, no file beyond 400 lines. Usage: layout.sh PROJECT
set -eu
cd "$1"
echo 1..2
sources () {
  find core examples host-adapters kernels mpi plugin tests \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) "$@"
}

long=$(sources -o -name '*.py' -o -name '*.java' | grep -v -e '/build/' -e '/\.' | while read -r file; do
  [ "$(wc -l <"$file")" -le 400 ] || echo "$file"
done)
if [ -z "$long" ]; then
  echo 'ok 1 - no file passes 400 lines'
else
  echo 'not ok 1 - no file passes 400 lines'
  echo "$long" | sed 's/^/# /'
fi

format=
for name in clang-format-14 clang-format; do
  case $("$name" --version 2>/dev/null || true) in
    *'version 14.'*) format=$name && break ;;
  esac
done
if [ -z "$format" ]; then
  echo 'ok 2 - laid out # SKIP clang-format 14 is not installed'
elif told=$(sources | xargs "$format" --dry-run --Werror --ferror-limit=3 2>&1); then
  echo 'ok 2 - laid out'
else
  echo 'not ok 2 - laid out'
  echo "$told" | grep 'error:' | head -n 20 | sed 's/^/# /'
fi
