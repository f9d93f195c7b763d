#!/bin/sh
# Ranks on the GPUs of a machine that has nvcc, a C compiler and Python with h5py, but nothing of ours and no MPI: takes what
# pack.sh packed. tests/mpi/device.sh PACK.tar.xz [FOLDER]; prints TAP, then how long whole passes take on one rank and on two.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
pack=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
out=${2:-/tmp/sideband-ranks}
rm -rf "$out/pack"
mkdir -p "$out/pack"
tar -C "$out/pack" -xf "$pack"
. "$root/tests/parity/module.sh"
start_reference "$root/tests/mpi/nccl_alone.c"
started
link_module
gcc -o nccl_alone cc_*.o pairs_*.o -lm -ldl
module=$out/libsideband_cuda.so
with=$out/pack/with
# NCCL, of the system or of a Python package.
nccl=$(find /usr/lib /usr/local /opt -name libnccl.so.2 2>/dev/null | head -1)
[ -n "$nccl" ] || echo "# no libnccl.so.2 here"
nccl=$(dirname "${nccl:-/none}")
gpus=$(nvidia-smi --list-gpus | wc -l)
LD_LIBRARY_PATH="$nccl:$LD_LIBRARY_PATH" ./nccl_alone "$module" || true
# mpirun, orted and their libraries come first for what runs under `with`; Python itself keeps its own.
mkdir -p bin
printf '#!/bin/sh\nexec "%s" mpirun "$@"\n' "$with" >bin/mpirun
chmod +x bin/mpirun
PATH="$out/bin:$PATH" python3 "$root/tests/mpi/test_device.py" "$out/pack/bin/sideband" "$root/examples/acquisitions" \
  "$module" "$nccl:$out/pack/lib" "$gpus" || true

if [ "${SCAN:-}" != none ]; then
  scan=$(mktemp -d /dev/shm/sideband.XXXXXX)
  trap 'rm -rf "$scan"' EXIT
  "$with" big_scan "$scan/big" ${SCAN:-512 192 53}
  for n in 1 2; do
    for memory in "" memory=4; do
      echo "# $n ranks on $gpus GPUs, $memory"
      SIDEBAND_NCCL=${SIDEBAND_NCCL:-} "$with" mpirun --allow-run-as-root -n $n rates "$scan/big_master.h5" 5 backend=cuda \
        cuda_module="$module" semiangle=30 $memory
    done
  done
fi
