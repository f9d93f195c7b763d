#!/bin/sh
# On a machine with a GPU, nvcc and a C compiler, nothing of ours installed: builds the CUDA module, tests the device's load
# against plain C, searches it for bad accesses, times it. tests/parity/load.sh [folder] [test|check|bench|all]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
out=${1:-/tmp/sideband-load}
what=${2:-all}
. "$root/tests/parity/module.sh"
cc_flags="-std=gnu11 -O2 -D_GNU_SOURCE -I$root -I$CUDA_HOME/include"
for f in "$root"/tests/parity/bslz4.c "$root"/tests/parity/module.c "$root"/tests/parity/test_load*.c "$root"/tests/bench/bench_load.c \
  "$root"/tests/bench/load_files.c; do
  # shellcheck disable=SC2086
  start gcc $cc_flags -c "$f" -o "cc_$(basename "$f" .c).o"
done
started
link_module
gcc -o test_load cc_test_load*.o cc_bslz4.o cc_module.o -lm -ldl
gcc -o bench_load cc_bench_load.o cc_load_files.o cc_bslz4.o cc_module.o -L"$lib" -lcudart_static -lpthread -ldl -lrt -lm
case $what in
test | all)
  for seed in 1 "$(date +%s)"; do
    ./test_load ./libsideband_cuda.so "$seed" 10000 >"load_$seed.tap" || true
    grep -E '^not ok|^#' "load_$seed.tap" | head -60 || true
  done
  ;;
esac
case $what in
check | all)
  compute-sanitizer --tool memcheck ./test_load ./libsideband_cuda.so 3 10000 >load_memcheck.txt 2>&1 || true
  tail -4 load_memcheck.txt
  compute-sanitizer --tool racecheck ./test_load ./libsideband_cuda.so 4 200 >load_racecheck.txt 2>&1 || true
  tail -2 load_racecheck.txt
  ;;
esac
case $what in
bench | all)
  ./bench_load ./libsideband_cuda.so "$out"
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  ;;
esac
