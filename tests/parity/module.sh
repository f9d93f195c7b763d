# Sourced by device.sh and load.sh, in their folder: $root and $out are set. Builds the CUDA module; objects newer than all of
# kernels/ stay.
arch=${ARCH:-90}
mkdir -p "$out"
cd "$out"
export CUDA_HOME="${CUDA_HOME:-/usr/local/cuda}"
PATH="$PATH:$CUDA_HOME/bin"
cuda="-O3 -lineinfo -std=c++17 -gencode=arch=compute_$arch,code=sm_$arch -I$root"
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
link_module() {
  gcc -shared -o libsideband_cuda.so ./*.cu.o -L"$lib" -lcudart_static -lpthread -ldl -lrt -lm -Wl,--exclude-libs,ALL
}
export LD_LIBRARY_PATH="$lib:${LD_LIBRARY_PATH:-}"
