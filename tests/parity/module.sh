# Sourced by device.sh, load.sh and tests/mpi/device.sh, in their folder: $root and $out are set. Builds the CUDA module; objects newer
# than all of
# kernels/ stay.
arch=${ARCH:-90}
mkdir -p "$out"
cd "$out"
export CUDA_HOME="${CUDA_HOME:-/usr/local/cuda}"
PATH="$PATH:$CUDA_HOME/bin"
cuda="-O3 -lineinfo -std=c++17 -gencode=arch=compute_$arch,code=sm_$arch -I$root"
cc_flags="-std=gnu11 -O3 -ffp-contract=fast -fno-math-errno -fno-trapping-math -D_GNU_SOURCE -I$root -Wno-psabi"
hidden='-Xcompiler=-fPIC,-fvisibility=hidden,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics'
pids=
start() {
  "$@" &
  pids="$pids $!"
}
started() {
  for p in $pids; do
    wait "$p"
  done
}
for f in "$root"/kernels/cuda/*.cu; do
  o=$(basename "$f").o
  [ -f "$o" ] && [ -z "$(find "$root/kernels" -newer "$o")" ] && continue
  # shellcheck disable=SC2086
  start nvcc $cuda $hidden -c "$f" -o "$o"
done
start gcc -std=gnu11 -O2 -fPIC -fvisibility=hidden -D_GNU_SOURCE -I"$root" -c "$root/kernels/cuda/together.c" -o together.cu.o
lib=$(dirname "$(command -v nvcc)")/../lib64
# CPU kernels, a plain transform in FFTW's place, scenes, the module's opener and the named C files: cc_*.o, pairs_*.o. Before started.
start_reference() {
  rm -f cc_*.o
  for isa in "plain" "avx2 -mavx2 -mfma" "avx512 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma"; do
    # shellcheck disable=SC2086
    start gcc $cc_flags -DSBK_ISA=$isa -c "$root/kernels/cpu/pairs.c" -o "pairs_${isa%% *}.o"
  done
  for f in "$root"/kernels/cpu/*.c "$root/tests/parity/dft.c" "$root/tests/parity/module.c" "$root/tests/parity/scene.c" "$@"; do
    case $f in
    */pairs.c | */fft.c) ;; # built above; FFTW is not there
    # shellcheck disable=SC2086
    *) start gcc $cc_flags -c "$f" -o "cc_$(basename "$f" .c).o" ;;
    esac
  done
}
link_module() {
  gcc -shared -o libsideband_cuda.so ./*.cu.o -L"$lib" -lcudart_static -lpthread -ldl -lrt -lm -Wl,--exclude-libs,ALL
}
export LD_LIBRARY_PATH="$lib:${LD_LIBRARY_PATH:-}"
