#!/bin/sh
# On a machine with a GPU, nvcc and a C compiler, nothing of ours installed: builds the CUDA module, the CPU kernels and the
# parity and bench programs, checks, times, prints a short table last. tests/parity/device.sh [folder] [parity|check|bench|all]
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
out=${1:-/tmp/sideband-device}
what=${2:-all}
. "$root/tests/parity/module.sh"
start_reference "$root/tests/parity/in_aliases.c" "$root/tests/parity/in_parts.c" "$root/tests/parity/test_parity.c"
# shellcheck disable=SC2086
start nvcc -O2 -std=c++17 -I"$root" -gencode=arch=compute_$arch,code=sm_$arch -c "$root/tests/bench/bench_cuda.cu" -o bench_cuda.o
started
link_module
gcc -o test_parity cc_*.o pairs_*.o -lm -ldl
nvcc -o bench_cuda bench_cuda.o ./*.cu.o -lm -ldl
case $what in
parity | all)
  for seed in 1 "$(date +%s)"; do
    ./test_parity ./libsideband_cuda.so "$seed" >"parity_$seed.tap" || true
    grep '^not ok' "parity_$seed.tap" | head -60 || true
    tail -1 "parity_$seed.tap"
  done
  ;;
esac
case $what in
check | all)
  for tool in memcheck racecheck; do
    compute-sanitizer --tool $tool ./test_parity ./libsideband_cuda.so 3 5.5 >"sanitizer_$tool.txt" 2>&1 || true
    tail -1 "sanitizer_$tool.txt"
  done
  ;;
esac
case $what in
bench | all)
  BENCH_JSON=bench.json ./bench_cuda
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  ;;
esac
