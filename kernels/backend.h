/* The one table behind which arithmetic happens: CPU, CUDA. Plain numbers only, no names, units, files or hosts; needs
 * nothing but libc, so that it builds alone on a machine that has only a compiler and a GPU.
 *
 * Everything lives in the detector frame: k and q in units of k_max (the edge of the aperture is at 1), chi in turns as
 * monomials x^i y^j (x: detector row, y: detector column), so one G serves every rotation and orientation. */
#ifndef SBK_BACKEND_H
#define SBK_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  SBK_ABI = 4,
  SBK_DEGREE = 6,       /* of chi */
  SBK_N_MONOMIALS = 28, /* 1, x, y, x^2, xy, y^2, ... by degree, then by falling power of x */
  SBK_TILT_X = 28,
  SBK_TILT_Y = 29,
  SBK_DEPTH = 30,
  SBK_N = 31 /* kernel coordinates: 28 monomials (the constant never matters), tilt, depth */
};

/* index of x^i y^j */
static inline int
sbk_monomial (int i, int j)
{
  int d = i + j;
  return d * (d + 1) / 2 + j;
}

typedef enum SbkStatus {
  SBK_OK = 0,
  SBK_CANCELLED,
  SBK_NO_MEMORY,
  SBK_DEVICE,     /* the device or its library failed */
  SBK_UNSUPPORTED /* this backend does not do it */
} SbkStatus;

/* Where a failing call leaves its sentence. */
typedef struct SbkError {
  char message[256];
} SbkError;

typedef enum SbkType { SBK_U8, SBK_U16, SBK_U32, SBK_F32, SBK_F64 } SbkType;

/* Runs task (i, worker, data) for every i in [0, n); the caller's threads do it. */
typedef void (*SbkTask) (int64_t i, unsigned worker, void *data);
typedef struct SbkThreads {
  unsigned count;
  void (*run) (void *pool, int64_t n, SbkTask task, void *data);
  void *pool;
} SbkThreads;

/* chi[0] is unused. depth = d lambda k_max^2; tilt = tau / alpha_max. So that
 * D-+ = sinc (depth (u.v -+ v^2/2 - v.tilt)), u = k / k_max, v = q / k_max. */
typedef struct SbkModel {
  double chi[SBK_N_MONOMIALS];
  double tilt[2];
  double depth;
} SbkModel;

/* Bright-field pixels, ordered by detector row: row r holds pixels [row_start[r], row_start[r + 1]), all at x = row_x[r]. */
typedef struct SbkPixels {
  int64_t n_pixels, n_rows;
  const int64_t *row_start; /* [n_rows + 1] */
  const double *row_x;      /* [n_rows] */
  const double *pixel_y;    /* [n_pixels] */
  double edge;              /* width of the aperture's ramp, in units of k_max */
} SbkPixels;

/* The frequencies that are kept of the scan's spectrum, in storage order: index [row * scan_cols + col] of the full FFT. */
typedef struct SbkBand {
  int64_t scan_rows, scan_cols;
  int64_t n_q;
  const int64_t *index; /* [n_q] */
} SbkBand;

/* Counts to transform: column of pixel p is counts + (size_t) column[p] * positions elements. */
typedef struct SbkCounts {
  SbkType type;
  const void *counts;
  const int64_t *column;             /* [n_pixels] */
  double scale;                      /* counts are multiplied by it */
  int64_t taper;                     /* scan points of the cosine taper at each border; 0: none */
  void (*taken) (const void *owner); /* or NULL: called, from any thread, when a column was read and may be put away */
  const void *owner;
} SbkCounts;

/* A part of G: frequencies [q_first, q_first + q_count), every q_stride-th block of SBK_LANES of them starting with block
 * q_phase; pixels k_first, k_first + k_stride, ... of the detector rows row_first, row_first + row_stride, ... What is made
 * once a row costs as much as many pixels: a thin subset is cheaper with fewer rows. */
enum { SBK_LANES = 16 };
typedef struct SbkView {
  int64_t q_first, q_count;      /* q_first a multiple of SBK_LANES */
  int64_t q_stride, q_phase;     /* 1, 0: all blocks */
  int64_t k_first, k_stride;     /* 0, 1: all pixels */
  int64_t row_first, row_stride; /* 0, 0 (or 1): all rows */
  int together;                  /* not 0: sums over all contexts that joined (SbkTogether), each with its own pixels */
} SbkView;
static inline int
sbk_view_row (const SbkView *view, int64_t row)
{
  return view->row_stride <= 1 || row % view->row_stride == view->row_first;
}

/* Frequencies of a view; only its last block can hold fewer than SBK_LANES. */
static inline int64_t
sbk_view_blocks (const SbkView *view)
{
  int64_t blocks = (view->q_count + SBK_LANES - 1) / SBK_LANES;
  return blocks <= view->q_phase ? 0 : (blocks - view->q_phase + view->q_stride - 1) / view->q_stride;
}

static inline int64_t
sbk_view_count (const SbkView *view)
{
  int64_t mine = sbk_view_blocks (view), all = (view->q_count + SBK_LANES - 1) / SBK_LANES;
  int short_block = mine > 0 && view->q_phase + (mine - 1) * view->q_stride == all - 1;
  return mine * SBK_LANES - (short_block ? all * SBK_LANES - view->q_count : 0);
}

/* |h|^2 / n of one block, from [lanes][3]: Re h, Im h, n. */
static inline double
sbk_block_value (const double *sums, int64_t lanes)
{
  double value = 0;
  for (int64_t l = 0; l < lanes; l++) {
    double re = sums[3 * l], im = sums[3 * l + 1], n = sums[3 * l + 2];
    if (n > 0)
      value += (re * re + im * im) / n;
  }
  return value;
}

/* What the parts of one pass hand on, doubles a block of the view (see the rows that end in _part). */
enum { SBK_CARRY_GRADIENT = (2 * SBK_N_MONOMIALS + 3) * SBK_LANES, SBK_CARRY_GEOMETRY = 2 * SBK_LANES };
static inline int64_t
sbk_carry_first (int n) /* derivatives of h and n by the n chosen coordinates: [n][3][SBK_LANES] */
{
  return 3 * (int64_t)n * SBK_LANES;
}
static inline int64_t
sbk_carry_second (int n) /* [n (n + 1) / 2][SBK_LANES] */
{
  return (int64_t)n * (n + 1) / 2 * SBK_LANES;
}

/* Fine frequencies of a reconstruction. The measured value at fine frequency f is G[source[f]], conjugated where conj[f].
 * stamp: the same number stands for the same contents, so that a device keeps what it has; 0: never kept. */
typedef struct SbkFine {
  int64_t n;
  const double *vx, *vy; /* detector frame, units of k_max */
  const int64_t *source;
  const uint8_t *conj;
  uint64_t stamp;
} SbkFine;

/* Where the frequencies of an image go: position[f] = row * cols + col of its full FFT, a real image's other half follows.
 * stamp as above. */
typedef struct SbkPlaces {
  int64_t rows, cols, n;
  const int64_t *position;
  uint64_t stamp;
} SbkPlaces;

/* Frequencies of the object that one measured frequency holds together, a group for each. vx, vy: as the measured value
 * sees them (the caller turns the sign of those it reads conjugated). */
typedef struct SbkAliases {
  int64_t n_groups, most; /* most: members of the largest group */
  const int64_t *start;   /* [n_groups + 1] group g has members [start[g], start[g + 1]) */
  const int64_t *source;  /* [n_groups] its measured frequency in G */
  const double *vx, *vy;  /* [start[n_groups]] detector frame, units of k_max */
  const int64_t *place;   /* [n_groups + 1] where the group's sums begin */
} SbkAliases;
/* Numbers of a group of n: the upper triangle of its Gram matrix by rows, Re and Im of <gamma_m,gamma_l>, l >= m; then Re
 * and Im of each <gamma_m,G>. */
static inline int64_t
sbk_alias_width (int64_t n)
{
  return n * (n + 3);
}

/* Per fine frequency. Which fields are filled depends on the call. */
typedef enum SbkSumKind {
  SBK_SUM_MATCHED, /* [0] Re <gamma,G>, [1] Im, [2] <gamma,gamma> */
  SBK_SUM_SSB,     /* [0] Re numerator, [1] Im, [2] denominator (see the model: ssb) */
  SBK_SUM_COMPLEX, /* [0] <a,a>, [1] <b,b>, [2],[3] <a,b>, [4],[5] <a,G>, [6],[7] <b,G> */
  SBK_SUM_SHIFTED, /* [0],[1] <w,G>, [2],[3] <w,gamma>, w = exp (2 pi i v.grad chi (k)), 0 where A (k) A (k - q) and A (k) A (k + q) are */
  SBK_SUM_MOMENT, /* the same with the real w = k.v, 0 there too */
  SBK_SUM_KINDS
} SbkSumKind;
static inline int
sbk_sum_width (SbkSumKind kind)
{
  return kind == SBK_SUM_COMPLEX ? 8 : kind == SBK_SUM_SHIFTED || kind == SBK_SUM_MOMENT ? 4 : 3;
}

typedef struct SbkContext SbkContext;   /* threads, plans, scratch of one session */
typedef struct SbkSpectrum SbkSpectrum; /* G on the device, with its pixels and band */

typedef struct SbkOpen {
  SbkThreads threads;
  int precise;        /* float64 pairs and storage of G */
  const char *module; /* path the backend was loaded from, or NULL */
} SbkOpen;

/* ---- load: stored frames to columns of counts on the device ---- */

/* As HDF5's filters 32004 and 32008 write them. */
typedef enum SbkFilter { SBK_FILTER_NONE, SBK_FILTER_LZ4, SBK_FILTER_BITSHUFFLE, SBK_FILTER_BITSHUFFLE_LZ4 } SbkFilter;

/* What all frames of a load have in common. */
typedef struct SbkFrames {
  int64_t rows, cols;
  SbkType type; /* SBK_U8, SBK_U16 or SBK_U32 */
  SbkFilter filter;
  int64_t block;       /* numbers a block of SBK_FILTER_BITSHUFFLE */
  int swap;            /* stored big-endian */
  const uint8_t *mask; /* [rows * cols] not 0: left out of all sums; or NULL */
} SbkFrames;

/* A stored frame: bytes [offset, offset + size) of the buffer. */
typedef struct SbkStored {
  uint64_t offset;
  uint32_t size;
  uint32_t plain; /* not 0: stored without its filter */
} SbkStored;

/* What becomes of the chosen pixels once all frames went by. */
enum { SBK_DROPPED, SBK_FINAL, SBK_REFUSED /* dropped, and taken out of the frames' sums */ };
typedef struct SbkTake {
  const uint8_t *fate; /* [n_pixels] */
  double less;         /* taken off every frame's sum */
  double com[2];       /* where a frame has no centre of mass */
} SbkTake;

typedef struct SbkLoad SbkLoad;

/* Frames go by in batches; some batches are under way while the caller fills the next one's buffer. A frame whose bytes
 * are no frame never leads outside of its own room: the lowest `first + i` of such frames is what `damaged` tells, -1: none
 * so far. */
typedef struct SbkLoader {
  SbkStatus (*begin) (SbkContext *context, SbkLoad **out, const SbkFrames *frames, size_t buffer_bytes, int64_t buffer_frames,
                      SbkError *error);
  /* Page-locked room for the next batch's stored bytes, once one is free. */
  SbkStatus (*buffer) (SbkLoad *load, void **data, int64_t *damaged, SbkError *error);
  /* n frames in the room that `buffer` gave; with pixels chosen they are scan positions [first, first + n). Returns before
   * they are decoded. */
  SbkStatus (*push) (SbkLoad *load, int64_t first, int64_t n, const SbkStored *frames, SbkError *error);
  /* Waits; sum and largest value of each detector pixel since the last call, masked ones 0: [rows * cols]. */
  SbkStatus (*sums) (SbkLoad *load, uint64_t *sum, uint32_t *high, int64_t *damaged, SbkError *error);
  /* From now on the pixels' counts are kept as columns [n_pixels][positions] of a type that may be narrower. */
  SbkStatus (*choose) (SbkLoad *load, SbkType type, int64_t n_pixels, const int32_t *pixel, int64_t positions, SbkError *error);
  /* Final columns, one behind the other; frame_sum[positions], frame_com[positions][2]. Frees all but the columns. counts:
   * what SbkCounts takes, until `free`. */
  SbkStatus (*take) (SbkLoad *load, const SbkTake *take, double *frame_sum, double *frame_com, const void **counts,
                     SbkError *error);
  /* Columns [first, first + n) to the host. */
  SbkStatus (*read) (SbkLoad *load, int64_t first, int64_t n, void *counts, SbkError *error);
  void (*free) (SbkLoad *load); /* also after its context was closed */
} SbkLoader;

/* ---- several processes, a device each ---- */

enum { SBK_ID = 128, SBK_DEVICE_TEXT = 64 };
typedef struct SbkDevice {
  char id[SBK_DEVICE_TEXT];   /* the same for the same device, in whatever process; of all machines */
  char name[SBK_DEVICE_TEXT]; /* for people */
} SbkDevice;

/* Contexts of several processes that add up among their devices, in the order of the processes: the same bits in all. Then
 * calls whose view says `together` are made by all of them, with the same frequencies, models and in the same order. */
typedef struct SbkTogether {
  /* Whether what connects devices is there, and its name and version. */
  SbkStatus (*check) (SbkContext *context, char name[SBK_DEVICE_TEXT], SbkError *error);
  /* What one of them makes for all to join by. */
  SbkStatus (*id) (SbkContext *context, uint8_t id[SBK_ID], SbkError *error);
  /* All call it. stop (or NULL) is polled while others are waited for, here and later; where it is not 0 the call ends as
   * cancelled and nothing can be done together any more. */
  SbkStatus (*join) (SbkContext *context, const uint8_t id[SBK_ID], int rank, int size, int (*stop) (void *data), void *data,
                     SbkError *error);
  void (*leave) (SbkContext *context);
  /* Bytes sent since the last time. */
  uint64_t (*sent) (SbkContext *context);
} SbkTogether;

typedef struct SbkBackend {
  int abi;             /* SBK_ABI */
  const char *name;    /* "cpu" */
  int (*score) (void); /* 0: not usable here; the highest is taken by "auto" */

  SbkStatus (*open) (SbkContext **out, const SbkOpen *how, SbkError *error);
  void (*close) (SbkContext *context);

  /* cancel: polled address or NULL; a call that sees it non-zero returns SBK_CANCELLED within 0.2 s. */

  /* Counts to G: real FFT over the scan of each pixel's column (mean removed), divided by the scan points. */
  SbkStatus (*spectrum_from_counts) (SbkContext *context, SbkSpectrum **out, const SbkPixels *pixels, const SbkBand *band,
                                     const SbkCounts *counts, const int *cancel, SbkError *error);
  /* G given: g[(pixel * n_q + q) * 2 + {0, 1}]. */
  SbkStatus (*spectrum_from_values) (SbkContext *context, SbkSpectrum **out, const SbkPixels *pixels, const SbkBand *band,
                                     const double *g, SbkError *error);
  void (*spectrum_free) (SbkSpectrum *spectrum);
  /* Frequencies in the detector frame; set again whenever rotation or orientation change. [n_q] each, copied. */
  SbkStatus (*spectrum_set_q) (SbkSpectrum *spectrum, const double *vx, const double *vy, SbkError *error);
  /* sum |G|^2 over the view, float64. */
  SbkStatus (*power) (SbkSpectrum *spectrum, const SbkView *view, double *power, SbkError *error);
  /* G back as float64, same order as spectrum_from_values. */
  SbkStatus (*spectrum_read) (SbkSpectrum *spectrum, int64_t first_pixel, int64_t n_pixels, double *g, SbkError *error);

  /* Numerators of S: value[c] = sum_q |<gamma,G>|^2 / <gamma,gamma> of each candidate. A candidate's bits do not depend on
   * the batch it stands in. precise: float64 pairs on whatever G is stored. */
  SbkStatus (*value) (SbkSpectrum *spectrum, const SbkView *view, int precise, int64_t n_models, const SbkModel *models,
                      double *value, const int *cancel, SbkError *error);
  /* Value and its derivatives by the 31 kernel coordinates (chi in turns). */
  SbkStatus (*gradient) (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, double *value,
                         double gradient[SBK_N], const int *cancel, SbkError *error);
  /* Value, gradient and exact Hessian over the n chosen kernel coordinates: gradient[n], hessian[n * n], symmetric. */
  SbkStatus (*hessian) (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, int n,
                        const int *chosen, double *value, double *gradient, double *hessian, const int *cancel,
                        SbkError *error);
  /* Sums over all pixels of the view (its q fields unused) for a reconstruction: out[n * sbk_sum_width (kind)]. */
  SbkStatus (*sums) (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, const SbkFine *fine,
                     SbkSumKind kind, double *out, const int *cancel, SbkError *error);
  /* Sums of each group over the view's pixels (its q fields unused), out[place[n_groups]]. */
  SbkStatus (*aliases) (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model,
                        const SbkAliases *aliases, double *out, const int *cancel, SbkError *error);
  /* Derivatives by the 31 kernel coordinates of -sum |G - sum_m x_m gamma_m|^2 over all groups, at fixed x[2 * members]. */
  SbkStatus (*alias_gradient) (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model,
                               const SbkAliases *aliases, const double *x, double gradient[SBK_N], const int *cancel,
                               SbkError *error);
  /* Pixels and the aperture's ramp at `scale` times where they were when G was made: another detector sampling, the same
   * pixels. G itself stays. */
  SbkStatus (*spectrum_set_scale) (SbkSpectrum *spectrum, double scale, SbkError *error);
  /* Derivatives of the value by turning all pixels (rad, from x to y) and by the logarithm of their scale. */
  SbkStatus (*geometry) (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, double *value,
                         double derivative[2], const int *cancel, SbkError *error);
  /* The real image of frequencies phi[n][2], not normalised, into the one of out and rounded that is not NULL [rows * cols].
   * NULL: core does it. */
  SbkStatus (*image) (SbkContext *context, const SbkPlaces *places, const double *phi, double *out, float *rounded,
                      SbkError *error);
  double pairs_at_once; /* of sums: so many (q,k) pairs a call keep progress moving */

  /* Bytes that are free in the device's own memory. NULL: it computes in the host's. */
  uint64_t (*memory) (SbkContext *context);
  /* Which device; NULL: the host's processors. */
  SbkStatus (*device) (SbkContext *context, SbkDevice *device, SbkError *error);
  /* value, gradient, hessian, geometry, power, sums, aliases and alias_gradient over several devices. NULL: not. */
  const SbkTogether *together;

  /* Passes over G in parts: chunks of detector rows one after the other, or shares of the pixels on several machines. Each
   * call adds what its pixels give, row by row, so that parts cut at detector rows and taken in order leave the same bits
   * as one spectrum that holds all of them. What is added to is zero before the first part. NULL: not in parts. */
  /* sums[n_models][sbk_view_count][3]: Re <gamma,G>, Im <gamma,G>, <gamma,gamma>. */
  SbkStatus (*value_sums) (SbkSpectrum *spectrum, const SbkView *view, int precise, int64_t n_models, const SbkModel *models,
                           double *sums, const int *cancel, SbkError *error);
  /* sums: complete, of this model. carry: [view blocks][SBK_CARRY_GRADIENT] to hand on, or NULL where this is the only part;
   * gradient: added to by the last part, NULL before it. */
  SbkStatus (*gradient_part) (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model,
                              const double *sums, double *carry, double *gradient, const int *cancel, SbkError *error);
  /* Adds to first[view blocks][sbk_carry_first (n)] and second[view blocks][sbk_carry_second (n)]. */
  SbkStatus (*hessian_part) (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, int n,
                             const int *chosen, const double *sums, double *first, double *second, const int *cancel,
                             SbkError *error);
  /* Adds to gradient[n] and hessian[n * n] what all parts left. Of several shares one gives the complete first, the others
   * zeros and their own second. */
  SbkStatus (*hessian_end) (SbkContext *context, const SbkView *view, int n, const double *sums, const double *first,
                            const double *second, double *gradient, double *hessian, SbkError *error);
  /* carry: [view blocks][SBK_CARRY_GEOMETRY]; the rest as for gradient_part. */
  SbkStatus (*geometry_part) (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model,
                              const double *sums, double *carry, double *derivative, const int *cancel, SbkError *error);
  /* sum |G|^2 of each frequency, [sbk_view_count]. */
  SbkStatus (*power_sums) (SbkSpectrum *spectrum, const SbkView *view, double *sums, SbkError *error);
  /* As sums and aliases, added to what out holds. */
  SbkStatus (*sums_part) (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, const SbkFine *fine,
                          SbkSumKind kind, double *out, const int *cancel, SbkError *error);
  SbkStatus (*aliases_part) (SbkSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model,
                             const SbkAliases *aliases, double *out, const int *cancel, SbkError *error);

  /* Load on the device. NULL: frames are gathered by the caller. */
  const SbkLoader *loader;
} SbkBackend;

extern const SbkBackend sbk_cpu;

#ifdef __cplusplus
}
#endif
#endif
