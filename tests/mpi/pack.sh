#!/bin/sh
# The command, its library, the MPI module and an Open MPI that runs from any folder, in one archive for a machine that has none
# of them (and its glibc or a newer one). tests/mpi/pack.sh OUT.tar.xz [BUILD]; there: FOLDER/with mpirun -n 2 sideband ...
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$(dirname "$1")"
out=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
build=${2:-$made/build}
[ -f "$build/build.ninja" ] \
  || meson setup "$build" "$root" -Dcuda=disabled -Dimagej=disabled -Dnapari=disabled --buildtype=release >"$made/setup.log"
ninja -C "$build" host-adapters/cli/sideband plugin/libsideband.so.1.0.0 mpi/libsideband_mpi.so tests/mpi/rates tests/bench/big_scan \
  >"$made/build.log" || { tail -20 "$made/build.log"; exit 1; }

stage=$made/stage
# Where Open MPI was built to look, below the prefix that OPAL_PREFIX takes the place of.
prefix=$(ompi_info --path prefix --parsable | cut -d: -f3)
parts=$(ompi_info --path pkglibdir --parsable | cut -d: -f3)
texts=$(ompi_info --path pkgdatadir --parsable | cut -d: -f3)
inside=$stage/${parts#"$prefix"/}
mkdir -p "$stage/bin" "$stage/lib" "$inside" "$stage/${texts#"$prefix"/}"
for program in host-adapters/cli/sideband tests/mpi/rates tests/bench/big_scan; do
  cp "$build/$program" "$stage/bin/"
done
cp -P "$build"/plugin/libsideband.so* "$build/mpi/libsideband_mpi.so" "$stage/lib/" 2>/dev/null || true
rm -rf "$stage"/lib/*.p
cp "$(readlink -f "$(command -v mpirun)")" "$stage/bin/mpirun"
cp "$(command -v orted)" "$stage/bin/orted"
# Parts for fabrics and job managers would need their libraries.
for part in "$parts"/mca_*.so; do
  case $(basename "$part") in
  *_ofi.so | *_psm*.so | *_openib.so | *_ucx.so | *_monitoring.so | *_slurm.so | *_flux.so | mca_memheap* | mca_spml* | mca_scoll* | mca_atomic* | mca_sshmem* | mca_io_* | mca_fs_* | mca_fcoll* | mca_fbtl* | mca_sharedfp*) ;;
  *) cp "$part" "$inside/" ;;
  esac
done
cp "$texts"/*.txt "$stage/${texts#"$prefix"/}/"
strip "$stage"/bin/* "$stage"/lib/*.so* "$inside"/*.so 2>/dev/null || true
# What all of them need but the C library and the compiler's, which the other machine's own programs want in their version.
for file in "$stage"/bin/* "$stage"/lib/*.so* "$inside"/*.so; do
  LD_LIBRARY_PATH=$stage/lib ldd "$file" 2>/dev/null
done | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | while read -r library; do
  case $(basename "$library") in
  libc.so* | libm.so* | libdl.so* | libpthread.so* | librt.so* | libresolv.so* | libgcc_s.so* | libstdc++.so* | libsideband*) ;;
  *) cp -L "$library" "$stage/lib/" ;;
  esac
done
cat >"$stage/with" <<'WITH'
#!/bin/sh
# Runs a command with what lies here.
here=$(cd "$(dirname "$0")" && pwd)
export OPAL_PREFIX="$here" PMIX_INSTALL_PREFIX="$here" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PATH="$here/bin:$PATH" LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export OMPI_MCA_plm_rsh_agent=false OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
exec "$@"
WITH
chmod +x "$stage/with"
tar -C "$stage" -cf - . | xz -6 -T2 >"$out"
ls -l "$out"
