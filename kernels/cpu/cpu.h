/* Inside of the CPU backend: what the files of this folder share. */
#ifndef SBK_CPU_H
#define SBK_CPU_H

#include "kernels/backend.h"

typedef struct CpuIsa CpuIsa;

struct SbkContext {
  SbkThreads threads;
  int precise;
  const CpuIsa *isa;
};

/* G is [block][pixel][re | im][SBK_LANES]: a task walks one block of frequencies over all pixels, one after the other. */
struct SbkSpectrum {
  SbkContext *context;
  int64_t n_pixels, n_rows, n_q, n_blocks;
  int64_t *row_start;
  double *row_x, *pixel_y;
  double *pixel_a; /* A at the pixel */
  double edge;
  double scale;    /* of row_x, pixel_y and edge over those that were given */
  double *vx, *vy; /* [n_blocks * SBK_LANES], padded far outside */
  int wide;        /* G in float64 */
  void *g;
  size_t g_bytes;
};

/* What one block needs to know. */
typedef struct CpuBlock {
  const SbkSpectrum *spectrum;
  const void *g;           /* of this block */
  const double *vx, *vy;   /* [SBK_LANES] */
  double valid[SBK_LANES]; /* 1: the lane counts, 0: beyond the view */
  int64_t k_first, k_stride;
  const SbkView *view; /* whose rows count */
  const SbkModel *model;
} CpuBlock;

/* Room that a task needs beyond its stack; one per worker. */
typedef struct CpuHessianScratch {
  double *second; /* [n (n + 1) / 2][SBK_LANES] */
  double *first;  /* [n][3][SBK_LANES] */
} CpuHessianScratch;

/* One fine block of up to SBK_LANES frequencies of a reconstruction. */
typedef struct CpuFine {
  const SbkSpectrum *spectrum;
  const void *g[SBK_LANES]; /* first pixel's value of each lane: g[l][0] re, g[l][SBK_LANES] im */
  double sign[SBK_LANES];   /* -1: conjugate */
  double vx[SBK_LANES], vy[SBK_LANES];
  int lanes;
  int64_t k_first, k_stride;
  const SbkView *view; /* whose rows count */
  const SbkModel *model;
  SbkSumKind kind;
  int add; /* to what is in the output */
} CpuFine;

/* One measured frequency with its aliases, in tiles of SBK_LANES. */
enum { CPU_ALIAS_PIXELS = 64 };
typedef struct CpuAliasGroup {
  const SbkSpectrum *spectrum;
  const void *g; /* first pixel's value: g[0] re, g[SBK_LANES] im */
  int n, tiles;
  const double *vx, *vy; /* [tiles * SBK_LANES], padded far outside */
  int64_t k_first, k_stride;
  const SbkView *view; /* whose rows count */
  const SbkModel *model;
  const double *x; /* [n][2] of the gradient */
  double *gamma;   /* scratch [CPU_ALIAS_PIXELS][2][(tiles + 1) * SBK_LANES], of the arithmetic's type */
  int add;         /* to what is in the output */
  double *sum;     /* scratch [n + 1][2][tiles * SBK_LANES] */
  void *residual;  /* scratch [n_pixels][2][SBK_LANES], as G is stored */
} CpuAliasGroup;

/* One set for each pair of arithmetic and storage. */
typedef struct CpuPairs {
  /* adds to h[2][SBK_LANES], n[SBK_LANES] of the block */
  void (*value) (const CpuBlock *block, double h[2][SBK_LANES], double n[SBK_LANES]);
  /* after value: adds to the moments carry[SBK_CARRY_GRADIENT] (NULL: its own, from zero), then, unless it is NULL, to
   * gradient[SBK_N] */
  void (*gradient) (const CpuBlock *block, double h[2][SBK_LANES], double n[SBK_LANES], double *carry, double *gradient);
  /* after value: adds to scratch */
  void (*hessian) (const CpuBlock *block, double h[2][SBK_LANES], double n[SBK_LANES], int count, const int *chosen,
                   CpuHessianScratch *scratch);
  /* from complete sums: adds to gradient[n] and the upper triangle of the Hessian by rows [n (n + 1) / 2] */
  void (*hessian_end) (double h[2][SBK_LANES], double n[SBK_LANES], int count, const double *second, const double *first,
                       double *gradient, double *hessian);
  void (*sums) (const CpuFine *fine, double *out /* [lanes][width] */);
  void (*aliases) (const CpuAliasGroup *group, double *out /* [sbk_alias_width (n)] */);
  /* after value: adds the derivatives by turn and scale of the pixels to carry (NULL: its own, from zero), then, unless it
   * is NULL, to derivative[2] */
  void (*geometry) (const CpuBlock *block, double h[2][SBK_LANES], double n[SBK_LANES], double *carry, double *derivative);
  void (*alias_gradient) (const CpuAliasGroup *group, double gradient[SBK_N]); /* adds */
} CpuPairs;

enum { CPU_SINGLE, CPU_MIXED, CPU_DOUBLE, CPU_PAIRS }; /* float on float G, double on float G, double on double G */

struct CpuIsa {
  const char *name;
  CpuPairs pairs[CPU_PAIRS];
};

extern const CpuIsa cpu_isa_plain;
#if defined(__x86_64__) && !defined(SBK_ONLY_PLAIN)
#define CPU_VECTOR_SETS 1
extern const CpuIsa cpu_isa_avx2, cpu_isa_avx512;
#endif

SbkStatus cpu_spectrum_alloc (SbkContext *context, SbkSpectrum **out, const SbkPixels *pixels, const SbkBand *band,
                              SbkError *error);
SbkStatus cpu_spectrum_from_counts (SbkContext *context, SbkSpectrum **out, const SbkPixels *pixels, const SbkBand *band,
                                    const SbkCounts *counts, const int *cancel, SbkError *error);
SbkStatus cpu_spectrum_from_values (SbkContext *context, SbkSpectrum **out, const SbkPixels *pixels, const SbkBand *band,
                                    const double *g, SbkError *error);
void cpu_spectrum_free (SbkSpectrum *spectrum);
SbkStatus cpu_spectrum_set_scale (SbkSpectrum *spectrum, double scale, SbkError *error);
SbkStatus cpu_geometry (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, double *value,
                        double derivative[2], const int *cancel, SbkError *error);
SbkStatus cpu_aliases (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model,
                       const SbkAliases *aliases, double *out, const int *cancel, SbkError *error);
SbkStatus cpu_alias_gradient (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model,
                              const SbkAliases *aliases, const double *x, double gradient[SBK_N], const int *cancel,
                              SbkError *error);
SbkStatus cpu_aliases_part (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model,
                            const SbkAliases *aliases, double *out, const int *cancel, SbkError *error);
SbkStatus cpu_value_sums (SbkSpectrum *spectrum, const SbkView *view, int precise, int64_t n_models, const SbkModel *models,
                          double *sums, const int *cancel, SbkError *error);
SbkStatus cpu_gradient_part (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, const double *sums,
                             double *carry, double *gradient, const int *cancel, SbkError *error);
SbkStatus cpu_hessian_part (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, int n,
                            const int *chosen, const double *sums, double *first, double *second, const int *cancel,
                            SbkError *error);
SbkStatus cpu_hessian_end (SbkContext *context, const SbkView *view, int n, const double *sums, const double *first,
                           const double *second, double *gradient, double *hessian, SbkError *error);
SbkStatus cpu_geometry_part (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, const double *sums,
                             double *carry, double *derivative, const int *cancel, SbkError *error);
SbkStatus cpu_power_sums (SbkSpectrum *spectrum, const SbkView *view, double *sums, SbkError *error);
SbkStatus cpu_spectrum_set_q (SbkSpectrum *spectrum, const double *vx, const double *vy, SbkError *error);
SbkStatus cpu_spectrum_read (SbkSpectrum *spectrum, int64_t first_pixel, int64_t n_pixels, double *g, SbkError *error);

SbkStatus cpu_fail (SbkError *error, SbkStatus status, const char *format, ...) __attribute__ ((format (printf, 3, 4)));
/* SBK_NO_MEMORY, with the sentence: what could not have its bytes ("The gradient"). */
SbkStatus cpu_no_memory (SbkError *error, const char *what, size_t bytes);
int cpu_cancelled (const int *cancel);
/* h and n of a block from nothing; returns sum |h|^2 / n of its lanes, in order. */
double cpu_block_value (const CpuPairs *pairs, const CpuBlock *block, double h[2][SBK_LANES], double n[SBK_LANES]);
/* The kernels for this G, in float64 where precise. */
const CpuPairs *cpu_pairs (const SbkSpectrum *spectrum, int precise);
/* Index of a view's i-th block. */
int64_t cpu_view_block (const SbkView *view, int64_t i);
void cpu_block_init (CpuBlock *block, const SbkSpectrum *spectrum, const SbkView *view, int64_t index, const SbkModel *model);

#endif
