#include "tests/parity/parity.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double
scene_random (uint64_t *state)
{
  *state += 0x9E3779B97F4A7C15u;
  uint64_t z = *state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return (double)(z >> 11) * 0x1p-52 - 1;
}

static void
make_pixels (Scene *s, uint64_t *state)
{
  int reach = (int)ceil (s->radius) + 1, span = 2 * reach + 1;
  int64_t n = 0, rows = 0;
  double offset[2] = { 0.3 * scene_random (state), 0.3 * scene_random (state) };
  s->row_start = calloc ((size_t)span + 1, sizeof *s->row_start);
  s->row_x = calloc ((size_t)span, sizeof *s->row_x);
  s->pixel_y = calloc ((size_t)span * (size_t)span, sizeof *s->pixel_y);
  for (int r = -reach; r <= reach; r++) {
    int64_t before = n;
    for (int c = -reach; c <= reach; c++) {
      double x = (r + offset[0]) / s->radius, y = (c + offset[1]) / s->radius;
      int hole = s->holes > 0 && scene_random (state) < -1 + 2.0 * s->holes / (span * span);
      if (x * x + y * y > 1 || hole)
        continue;
      s->pixel_y[n++] = y;
    }
    if (n == before)
      continue;
    s->row_x[rows] = (r + offset[0]) / s->radius;
    s->row_start[++rows] = n;
  }
  s->pixels = (SbkPixels){ n, rows, s->row_start, s->row_x, s->pixel_y, 1 / s->radius };
}

/* Half of the scan's frequencies, by |q|, as the library stores them. */
static void
make_frequencies (Scene *s)
{
  int all = s->rows * s->cols;
  double *r = malloc ((size_t)all * sizeof *r);
  s->index = malloc ((size_t)all * sizeof *s->index);
  s->vx = malloc ((size_t)all * sizeof *s->vx);
  s->vy = malloc ((size_t)all * sizeof *s->vy);
  s->n_q = 0;
  for (int i = 0; i < s->rows; i++)
    for (int j = 0; j < s->cols; j++) {
      int si = i < (s->rows + 1) / 2 ? i : i - s->rows, sj = j < (s->cols + 1) / 2 ? j : j - s->cols;
      double x = 4.1 * si / s->rows, y = 4.1 * sj / s->cols, size = hypot (x, y);
      if (!(si > 0 || (si == 0 && sj > 0)) || size >= 2)
        continue;
      int64_t at = s->n_q++;
      for (; at > 0 && r[at - 1] > size; at--) {
        r[at] = r[at - 1];
        s->index[at] = s->index[at - 1];
        s->vx[at] = s->vx[at - 1];
        s->vy[at] = s->vy[at - 1];
      }
      r[at] = size;
      s->index[at] = (int64_t)i * s->cols + j;
      /* turned, so that nothing lies along the detector's axes */
      s->vx[at] = 0.8 * x - 0.6 * y;
      s->vy[at] = 0.6 * x + 0.8 * y;
    }
  if (s->count > 0 && s->count < s->n_q)
    s->n_q = s->count;
  free (r);
}

void
scene_make (Scene *s)
{
  uint64_t state = s->seed;
  make_pixels (s, &state);
  make_frequencies (s);
  size_t n = (size_t)(s->n_q * s->pixels.n_pixels);
  s->g = malloc (2 * n * sizeof *s->g + 1);
  for (size_t i = 0; i < 2 * n; i++)
    s->g[i] = (float)(scene_random (&state) + 0.3); /* float32 values: all backends store the same */
  s->column = malloc ((size_t)s->pixels.n_pixels * sizeof *s->column + 1);
  for (int64_t k = 0; k < s->pixels.n_pixels; k++)
    s->column[k] = s->pixels.n_pixels - 1 - k;
  memset (&s->model, 0, sizeof s->model);
  for (int m = 3; m < SBK_N_MONOMIALS; m++)
    s->model.chi[m] = s->turns * scene_random (&state);
  s->model.depth = s->depth;
  s->model.tilt[0] = 0.4 * scene_random (&state);
  s->model.tilt[1] = 0.4 * scene_random (&state);
  s->view = (SbkView){ 0, s->n_q, 1, 0, 0, 1 };
}

void
scene_free (Scene *s)
{
  free (s->row_start);
  free (s->row_x);
  free (s->pixel_y);
  free (s->index);
  free (s->vx);
  free (s->vy);
  free (s->g);
  free (s->column);
}

const SbkBackend *
parity_module (const char *path, const char **reason)
{
  void *module = dlopen (path, RTLD_NOW | RTLD_LOCAL);
  *reason = module == NULL ? dlerror () : "no sbk_module_backend in it";
  const SbkBackend *(*get) (void) = module == NULL ? NULL : (const SbkBackend *(*)(void))dlsym (module, "sbk_module_backend");
  if (get == NULL)
    return NULL;
  const SbkBackend *backend = get ();
  *reason = backend->abi != SBK_ABI ? "another ABI" : "no usable GPU here";
  return backend->abi == SBK_ABI && backend->score () > 0 ? backend : NULL;
}

static void
run_serial (void *pool, int64_t n, SbkTask task, void *data)
{
  (void)pool;
  for (int64_t i = 0; i < n; i++)
    task (i, 0, data);
}

SbkThreads
parity_threads (void)
{
  SbkThreads threads = { 1, run_serial, NULL };
  return threads;
}
