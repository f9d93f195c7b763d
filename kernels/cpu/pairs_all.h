/* One arithmetic: vector type and functions, then the kernels. */
#define W ((int)(VECTOR_BYTES / sizeof (REAL)))
#define vec PASTE (vec, SUFFIX)
#define ivec PASTE (ivec, SUFFIX)
typedef REAL vec __attribute__ ((vector_size (VECTOR_BYTES)));
typedef INT ivec __attribute__ ((vector_size (VECTOR_BYTES)));
#define FN(name) PASTE (name, SUFFIX)
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/pairs_value.h"
#include "kernels/cpu/pairs_gradient.h"
#include "kernels/cpu/pairs_hessian.h"
#include "kernels/cpu/pairs_alias.h"
#include "kernels/cpu/pairs_geometry.h"
#include "kernels/cpu/pairs_sums.h"
#undef vec
#undef ivec
#undef W
#undef FN
