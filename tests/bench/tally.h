/* Where the time of a run goes: the backend's rows, timed. Included once, after core's headers. */
#ifndef SB_TESTS_BENCH_TALLY_H
#define SB_TESTS_BENCH_TALLY_H

static double
seconds (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* Where the time of a fit goes: the backend's own rows, timed, by kind and size of the call. */
enum { KINDS = 16 };
static struct {
  const char *name;
  int size; /* frequencies x pixels of the view, log2 */
  int precise, n;
  int calls;
  double seconds, share;
} tally[256];
static int n_tally;
static const SbkBackend *inner;
static SbkBackend outer;
static double all_pairs;

static void
tally_add (const char *name, const SbkView *view, const SbkSpectrum *s, int precise, int n, double took)
{
  double q = view->q_count == 0 ? (double)s->n_q : (double)view->q_count / view->q_stride;
  double share = q * ((double)s->n_pixels / view->k_stride / (view->row_stride > 1 ? view->row_stride : 1)) / all_pairs;
  int size = (int)lrint (2 * log2 (share)), i = 0;
  while (i < n_tally && !(tally[i].name == name && tally[i].size == size && tally[i].precise == precise && tally[i].n == n))
    i++;
  if (i == 256)
    return;
  if (i == n_tally) {
    memset (&tally[i], 0, sizeof tally[i]);
    n_tally++;
  }
  tally[i].name = name;
  tally[i].size = size;
  tally[i].precise = precise;
  tally[i].n = n;
  tally[i].calls++;
  tally[i].seconds += took;
  tally[i].share = share;
}

static void
tally_print (double total, double unit)
{
  double sum = 0;
  for (int i = 0; i < n_tally; i++) {
    printf ("  %-9s n %3d precise %d share %.4f: %3d calls %7.2f ms = %6.2f R\n", tally[i].name, tally[i].n, tally[i].precise,
            tally[i].share, tally[i].calls, 1e3 * tally[i].seconds, tally[i].seconds / unit);
    sum += tally[i].seconds;
  }
  printf ("  outside the kernels' rows: %.2f ms\n", 1e3 * (total - sum));
  n_tally = 0;
}

static SbkStatus
timed_value (SbkSpectrum *s, const SbkView *view, int precise, int64_t n, const SbkModel *models, double *value,
             const int *cancel, SbkError *error)
{
  double before = seconds ();
  SbkStatus status = inner->value (s, view, precise, n, models, value, cancel, error);
  tally_add ("value", view, s, precise, (int)n, seconds () - before);
  return status;
}

static SbkStatus
timed_gradient (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, double *value, double gradient[SBK_N],
                const int *cancel, SbkError *error)
{
  double before = seconds ();
  SbkStatus status = inner->gradient (s, view, precise, model, value, gradient, cancel, error);
  tally_add ("gradient", view, s, precise, 1, seconds () - before);
  return status;
}

static SbkStatus
timed_hessian (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, int n, const int *chosen, double *value,
               double *gradient, double *hessian, const int *cancel, SbkError *error)
{
  double before = seconds ();
  SbkStatus status = inner->hessian (s, view, precise, model, n, chosen, value, gradient, hessian, cancel, error);
  tally_add ("hessian", view, s, precise, n, seconds () - before);
  return status;
}

static SbkStatus
timed_power (SbkSpectrum *s, const SbkView *view, double *power, SbkError *error)
{
  double before = seconds ();
  SbkStatus status = inner->power (s, view, power, error);
  tally_add ("power", view, s, 0, 1, seconds () - before);
  return status;
}

static SbkStatus
timed_sums (SbkSpectrum *s, const SbkView *view, int precise, const SbkModel *model, const SbkFine *fine, SbkSumKind kind,
            double *out, const int *cancel, SbkError *error)
{
  double before = seconds ();
  SbkStatus status = inner->sums (s, view, precise, model, fine, kind, out, cancel, error);
  tally_add ("sums", view, s, precise, 1, seconds () - before);
  return status;
}

static SbkStatus
timed_image (SbkContext *context, const SbkPlaces *places, const double *phi, double *out, float *rounded, SbkError *error)
{
  double before = seconds ();
  SbkView all = { 0, 0, 1, 0, 0, 1, 0, 0 };
  SbkSpectrum one = {};
  one.n_pixels = one.n_q = 1;
  SbkStatus status = inner->image (context, places, phi, out, rounded, error);
  tally_add ("image", &all, &one, 1, 1, seconds () - before);
  return status;
}

static void
tally_begin (SbEngine *engine)
{
  inner = engine->backend;
  outer = *inner;
  outer.value = timed_value;
  outer.gradient = timed_gradient;
  outer.hessian = timed_hessian;
  outer.power = timed_power;
  outer.sums = timed_sums;
  outer.image = timed_image;
  engine->backend = &outer;
}

#endif
