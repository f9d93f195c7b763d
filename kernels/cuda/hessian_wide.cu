/* Hessian tiles in double on G in double; a file of its own so that the three compile side by side. */
#include "kernels/cuda/hessian.cuh"

extern const HessianTile cuda_hessian_wide = hessian_tile<double, double>;
