/* How long whole passes take where ranks share an acquisition: load, G, then value, gradient and low-order Hessian at one set
 * of coefficients, the median of REPEATS calls each. Rank 0 prints JSON; run it alone or under mpirun.
 * rates FILE REPEATS backend=... [cuda_module=...] [precision=...] [threads=...] [memory=GB] [semiangle=mrad] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/agreement.h"
#include "core/ranks.h"
#include "core/share.h"
#include "core/work.h"

enum { WARM = 3, BATCH = 8, MOST = 1000 };

typedef struct Measured {
  SbAgreement agreement;
  SbCoordinates at[BATCH];
  double s[BATCH], gradient[SB_N_COORDINATES], hessian[9];
} Measured;

static gboolean
value (Measured *m, GError **error)
{
  return agreement_value (&m->agreement, 1, m->at, m->s, error);
}

static gboolean
values (Measured *m, GError **error)
{
  return agreement_value (&m->agreement, BATCH, m->at, m->s, error);
}

static gboolean
gradient (Measured *m, GError **error)
{
  return agreement_gradient (&m->agreement, m->at, m->s, m->gradient, error);
}

static gboolean
hessian (Measured *m, GError **error)
{
  static const int low[] = { 0, 1, 2 };
  double first[3];
  return agreement_hessian (&m->agreement, m->at, 3, low, m->s, first, m->hessian, error);
}

static int
by_size (const void *a, const void *b)
{
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

static gboolean
measure (Measured *m, gboolean (*call) (Measured *m, GError **error), const char *name, int repeats, json_t *report,
         GError **error)
{
  double seconds[MOST];
  for (int i = -WARM; i < repeats; i++) {
    gint64 start = g_get_monotonic_time ();
    if (!call (m, error))
      return FALSE;
    if (i >= 0)
      seconds[i] = (double)(g_get_monotonic_time () - start) * 1e-6;
  }
  qsort (seconds, (gsize)repeats, sizeof *seconds, by_size);
  json_object_set_new (report, name, json_real (seconds[repeats / 2]));
  return TRUE;
}

static json_t *
numbers (const double *values, int n)
{
  json_t *list = json_array ();
  for (int i = 0; i < n; i++)
    json_array_append_new (list, json_real (values[i]));
  return list;
}

static gboolean
measure_all (SbWork *work, const SbOptics *optics, int repeats, json_t *report, GError **error)
{
  SbCalibrationOptions calibration = { { NAN, NAN }, NAN, 0, (char *)"identity" };
  SbSpectrumOptions spectrum = { { NAN, NAN }, 0 };
  SbSeconds seconds = { 0 };
  Measured m = { 0 };
  if (!work_need_columns (work, optics, &calibration, NULL, &seconds, error)
      || !work_need_spectrum (work, optics, &calibration, &spectrum, NULL, &seconds, error)
      || !agreement_init (&m.agreement, work->spectrum, 0, 1, NULL, NULL, error))
    return FALSE;
  for (int i = 0; i < BATCH; i++) {
    m.at[i].x[0] = 14 + 0.1 * i; /* about what big_scan makes: C10, C12a */
    m.at[i].x[1] = 3;
  }
  json_object_set_new (report, "load", json_real (seconds.load));
  json_object_set_new (report, "prepare", json_real (seconds.prepare));
  if (!measure (&m, values, "value_of_8", repeats, report, error) || !measure (&m, value, "value", repeats, report, error)
      || !measure (&m, hessian, "hessian", repeats, report, error)
      || !measure (&m, gradient, "gradient", repeats, report, error))
    return FALSE;
  json_object_set_new (report, "frequencies", json_integer (work->spectrum->n_band));
  json_object_set_new (report, "pixels", json_integer (work->spectrum->n_pixels));
  json_object_set_new (report, "in_parts", json_boolean (work->spectrum->somewhere_in_parts));
  json_object_set_new (report, "agreement", json_real (m.s[0]));
  json_object_set_new (report, "d_agreement", numbers (m.gradient, SB_N_COORDINATES));
  json_object_set_new (report, "d2_agreement", numbers (m.hessian, 9));
  if (work->engine->ranks != NULL)
    json_object_set_new (report, "ranks", share_report (work->engine, work->columns, work->spectrum));
  return TRUE;
}

static const char *
given (int argc, char **argv, const char *name)
{
  gsize n = strlen (name);
  for (int i = 3; i < argc; i++)
    if (strncmp (argv[i], name, n) == 0 && argv[i][n] == '=')
      return argv[i] + n + 1;
  return NULL;
}

static double
number (int argc, char **argv, const char *name, double otherwise)
{
  const char *text = given (argc, argv, name);
  return text != NULL ? g_ascii_strtod (text, NULL) : otherwise;
}

/* What the file does not say is asked for. */
static SbWork *
open_work (SbEngine *engine, const char *path, double semiangle, SbAcquisition **acquisition, SbOptics *optics, GError **error)
{
  SbAcquisitionOptions options;
  param_group_defaults (&acquisition_params, &options);
  *acquisition = acquisition_open (path, &options, error);
  param_group_clear (&acquisition_params, &options);
  if (*acquisition == NULL)
    return NULL;
  const SbHeader *header = &(*acquisition)->header;
  *optics = (SbOptics){ header->energy,
                        isnan (semiangle) ? header->semiangle : semiangle,
                        { header->step[0], header->step[1] } };
  return work_new (engine, *acquisition);
}

int
main (int argc, char **argv)
{
  GError *error = NULL;
  SbAcquisition *acquisition = NULL;
  SbOptics optics;
  SbWork *work = NULL;
  if (argc < 3) {
    fprintf (stderr,
             "rates FILE REPEATS [backend=...] [cuda_module=...] [precision=...] [threads=...] [memory=...] [semiangle=...]\n");
    return 2;
  }
  SbEngineOptions options = { (char *)given (argc, argv, "backend"),   (char *)"auto",
                              (char *)given (argc, argv, "precision"), (gint64)number (argc, argv, "threads", 0),
                              number (argc, argv, "memory", NAN),      (char *)given (argc, argv, "cuda_module") };
  int repeats = CLAMP (atoi (argv[2]), 1, MOST);
  SbEngine *engine = engine_new (&options, &error);
  SbRanks *ranks = engine != NULL ? engine->ranks : NULL;
  json_t *report = json_object ();
  gboolean good = engine != NULL && (ranks == NULL || ranks_begin (ranks, NULL, &error));
  if (good) {
    work = open_work (engine, argv[1], number (argc, argv, "semiangle", NAN), &acquisition, &optics, &error);
    good = work != NULL && measure_all (work, &optics, repeats, report, &error);
  }
  if (ranks != NULL)
    good = ranks_end (ranks, good, &error);
  if (good && (ranks == NULL || ranks->rank == 0)) {
    json_dumpf (report, stdout, JSON_INDENT (1) | JSON_REAL_PRECISION (17));
    printf ("\n");
  }
  if (!good)
    fprintf (stderr, "%s\n", error != NULL ? error->message : "It failed.");
  json_decref (report);
  work_free (work);
  acquisition_free (acquisition);
  engine_free (engine);
  return !good;
}
