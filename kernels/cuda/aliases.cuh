/* Groups of aliases as kernels see them. */
#ifndef SBK_CUDA_ALIASES_CUH
#define SBK_CUDA_ALIASES_CUH

#include "kernels/cuda/cuda.h"

typedef struct CudaAliases {
  int n_groups, most;
  const int *start;       /* [n_groups + 1] */
  const int *source;      /* [n_groups] */
  const int *group_of;    /* [members] */
  const long long *place; /* [n_groups + 1] */
  const double *vx, *vy;  /* [members] */
} CudaAliases;

SbkStatus cuda_aliases_send (SbkContext *context, const SbkAliases *aliases, CudaAliases *to, SbkError *error);
/* Largest |q| of the members. */
double cuda_aliases_reach (const SbkAliases *aliases);

#endif
