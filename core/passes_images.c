/* Passes that are not of a fit alone: the power of G, sums of an image, aliases. */
#include <string.h>

#include "core/error.h"
#include "core/passes.h"
#include "core/passes_inside.h"

/* What a pass gives each part. */
typedef struct Step {
  const SbSpectrum *spectrum;
  int precise;
  const SbkModel *model;
  const SbkFine *fine;
  SbkSumKind kind;
  const SbkAliases *aliases;
  const double *x;
  double *out; /* added to */
  const int *cancel;
} Step;

static const SbkBackend *
backend_of (const Step *step)
{
  return step->spectrum->engine->backend;
}

/* G at once, or part by part; then n numbers of step->out over all that share it. */
static gboolean
pass (SbSpectrum *spectrum, const SbkView *view, SbPartWork work, Step *step, gsize n, SbProgress *progress, GError **error)
{
  SbPart part;
  SbkError kernel = { "" };
  if (!passes_alone (spectrum, view, TRUE, progress, &part, error))
    return FALSE;
  if (part.g != NULL)
    return spectrum_fail (work (&part, step, &kernel), &kernel, error);
  return parts_each (spectrum, view, TRUE, work, step, progress, error) && passes_reduce (spectrum, step->out, n, error);
}

/* ---- power ---- */

static SbkStatus
power_work (const SbPart *part, gpointer data, SbkError *error)
{
  Step *step = data;
  double power = 0;
  if (!part->only && backend_of (step)->power_sums == NULL)
    return passes_unsupported (step->spectrum, error);
  if (!part->only)
    return backend_of (step)->power_sums (part->g, &part->view, step->out, error);
  SbkStatus status = backend_of (step)->power (part->g, &part->view, &power, error);
  step->out[0] += power;
  return status;
}

gboolean
passes_power (SbSpectrum *spectrum, const SbkView *view, double *power, SbProgress *progress, GError **error)
{
  gsize n = spectrum->parts != NULL ? (gsize)sbk_view_count (view) : 1;
  g_autofree double *sums = sb_alloc (n, sizeof *sums, "The power of each frequency", error);
  Step step = { .spectrum = spectrum, .out = sums };
  SbPart part;
  SbkError kernel = { "" };
  if (sums == NULL || !passes_alone (spectrum, view, FALSE, progress, &part, error))
    return FALSE;
  memset (sums, 0, MAX (n, 1) * sizeof *sums);
  *power = 0;
  if (part.g != NULL)
    return spectrum_fail (backend_of (&step)->power (part.g, &part.view, power, &kernel), &kernel, error);
  if (!parts_each (spectrum, view, FALSE, power_work, &step, progress, error))
    return FALSE;
  for (gsize q = 0; q < n; q++)
    *power += sums[q];
  return passes_reduce (spectrum, power, 1, error);
}

/* ---- sums of a reconstruction ---- */

static SbkStatus
sums_work (const SbPart *part, gpointer data, SbkError *error)
{
  Step *step = data;
  typeof (backend_of (step)->sums) sums = part->only ? backend_of (step)->sums : backend_of (step)->sums_part;
  if (sums == NULL)
    return passes_unsupported (step->spectrum, error);
  return sums (part->g, &part->view, step->precise, step->model, step->fine, step->kind, step->out, step->cancel, error);
}

/* Parts add to zeros, and so does a rank that has none. */
static void
clear (const SbSpectrum *spectrum, double *out, gsize n)
{
  if (spectrum->parts != NULL || spectrum->engine->reduce != NULL)
    memset (out, 0, n * sizeof *out);
}

gboolean
passes_sums (SbSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, const SbkFine *fine,
             SbkSumKind kind, double *out, SbProgress *progress, GError **error)
{
  gsize n = (gsize)(fine->n * sbk_sum_width (kind));
  Step step = { .spectrum = spectrum,
                .precise = precise,
                .model = model,
                .fine = fine,
                .kind = kind,
                .out = out,
                .cancel = progress_cancel_flag (progress) };
  clear (spectrum, out, n);
  return pass (spectrum, view, sums_work, &step, n, progress, error);
}

gint64
passes_sums_at_once (const SbSpectrum *spectrum, gint64 n, gint64 wanted)
{
  return spectrum->somewhere_in_parts ? MAX (n, 1) : wanted;
}

static SbkStatus
aliases_work (const SbPart *part, gpointer data, SbkError *error)
{
  Step *step = data;
  typeof (backend_of (step)->aliases) sums = part->only ? backend_of (step)->aliases : backend_of (step)->aliases_part;
  if (sums == NULL)
    return passes_unsupported (step->spectrum, error);
  return sums (part->g, &part->view, step->precise, step->model, step->aliases, step->out, step->cancel, error);
}

gboolean
passes_aliases (SbSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, const SbkAliases *aliases,
                double *out, SbProgress *progress, GError **error)
{
  gsize n = (gsize)aliases->place[aliases->n_groups];
  Step step = { .spectrum = spectrum,
                .precise = precise,
                .model = model,
                .aliases = aliases,
                .out = out,
                .cancel = progress_cancel_flag (progress) };
  clear (spectrum, out, n);
  return pass (spectrum, view, aliases_work, &step, n, progress, error);
}

static SbkStatus
alias_gradient_work (const SbPart *part, gpointer data, SbkError *error)
{
  Step *step = data;
  double gradient[SBK_N];
  SbkStatus status = backend_of (step)->alias_gradient (part->g, &part->view, step->precise, step->model, step->aliases,
                                                        step->x, gradient, step->cancel, error);
  for (int i = 0; status == SBK_OK && i < SBK_N; i++)
    step->out[i] += gradient[i];
  return status;
}

gboolean
passes_alias_gradient (SbSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, const SbkAliases *aliases,
                       const double *x, double gradient[SBK_N], SbProgress *progress, GError **error)
{
  Step step = { .spectrum = spectrum,
                .precise = precise,
                .model = model,
                .aliases = aliases,
                .x = x,
                .out = gradient,
                .cancel = progress_cancel_flag (progress) };
  memset (gradient, 0, SBK_N * sizeof *gradient);
  return pass (spectrum, view, alias_gradient_work, &step, SBK_N, progress, error);
}
