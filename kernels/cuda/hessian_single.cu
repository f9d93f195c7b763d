/* Hessian tiles in float on G in float; a file of its own so that the three compile side by side. */
#include "kernels/cuda/hessian.cuh"

extern const HessianTile cuda_hessian_single = hessian_tile<float, float>;
