/* Hessian tiles in double on G in float; a file of its own so that the three compile side by side. */
#include "kernels/cuda/hessian.cuh"

extern const HessianTile cuda_hessian_mixed = hessian_tile<double, float>;
