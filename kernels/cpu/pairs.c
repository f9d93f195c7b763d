/* The pair kernels, compiled once per instruction set; each includes the same text for its arithmetic and storage. */
#include "kernels/cpu/cpu.h"

#include <math.h>
#include <string.h>

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

#define PASTE2(a, b) a##_##b
#define PASTE(a, b) PASTE2 (a, b)
#define INLINE static inline __attribute__ ((always_inline))

#include "kernels/cpu/rows.h"

#define SINGLE 1
#define REAL float
#define INT int32_t
#define STORED float
#define SUFFIX single
#include "kernels/cpu/pairs_all.h"
#undef STORED
#undef SUFFIX
#undef REAL
#undef INT
#undef SINGLE

#define SINGLE 0
#define REAL double
#define INT int64_t
#define STORED float
#define SUFFIX mixed
#include "kernels/cpu/pairs_all.h"
#undef STORED
#undef SUFFIX

#define STORED double
#define SUFFIX wide
#include "kernels/cpu/pairs_all.h"

#define SET(suffix)                                                                                                            \
  {                                                                                                                            \
    PASTE (pairs_value, suffix), PASTE (pairs_gradient, suffix), PASTE (pairs_hessian, suffix), hessian_of_block,              \
        PASTE (pairs_sums, suffix), PASTE (alias_sums, suffix), PASTE (pairs_geometry, suffix), PASTE (alias_gradient, suffix) \
  }

const CpuIsa PASTE (cpu_isa, SBK_ISA) = { "", { SET (single), SET (mixed), SET (wide) } };
