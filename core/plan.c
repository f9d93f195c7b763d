#include "core/plan.h"

#include <stdio.h>
#include <string.h>

#include "core/devices.h"
#include "core/error.h"
#include "core/scratch.h"

#define MB 1000000
/* The program itself, its libraries and their small allocations. */
#define BASE (40 * (guint64)MB)
enum { FFT_AT_ONCE = 9 }; /* scan images that a thread holds while it transforms; see the kernels' spectrum_from_counts */

/* ---- what there is ---- */

static guint64
number_in (const char *path, const char *label)
{
  char line[256];
  guint64 number = 0;
  FILE *file = fopen (path, "re");
  if (file == NULL)
    return 0;
  while (number == 0 && fgets (line, sizeof line, file) != NULL)
    if (strncmp (line, label, strlen (label)) == 0)
      number = g_ascii_strtoull (line + strlen (label), NULL, 10); /* "max" reads as 0: no limit */
  fclose (file);
  return number;
}

/* What could be had without swapping; 0: not known. */
static guint64
memory_free (void)
{
  guint64 free = number_in ("/proc/meminfo", "MemAvailable:") * 1024;
  guint64 most = number_in ("/sys/fs/cgroup/memory.max", ""), used = number_in ("/sys/fs/cgroup/memory.current", "");
  if (most > 0 && (free == 0 || most - MIN (used, most) < free))
    free = most - MIN (used, most);
  return free;
}

/* held: bytes that were allocated already and count. */
static void
take_budget (const SbEngine *engine, guint64 held, SbPlan *plan)
{
  guint64 free = memory_free ();
  plan->given = engine->memory > 0;
  plan->budget = plan->given ? engine->memory : free > 0 ? free / engine->neighbours / 10 * 9 + held + BASE : G_MAXUINT64 / 4;
}

static guint64
share (const SbEngine *engine, guint64 parts, guint64 least, guint64 most)
{
  return engine->memory > 0 ? CLAMP (engine->memory / parts, least, most) : most;
}

guint64
plan_slack (const SbEngine *engine)
{
  return share (engine, 32, 2 * MB, 64 * MB);
}

guint64
plan_step (const SbEngine *engine)
{
  return share (engine, 32, MB, 64 * MB);
}

guint64
plan_carry (const SbEngine *engine)
{
  return share (engine, 8, 4 * MB, 256 * MB);
}

guint64
plan_pixel (const SbEngine *engine, gint64 n_q)
{
  return (guint64)((n_q + SBK_LANES - 1) / SBK_LANES * SBK_LANES) * 2 * (engine->precise ? sizeof (double) : sizeof (float));
}

/* ---- columns ---- */

static gboolean
too_small (const SbPlan *plan, const char *what, GError **error)
{
  return sb_fail (error, SB_ERROR_MEMORY,
                  "%s need at least %.2f GB, but %.2f GB are %s; give memory = %.2f or more, or a smaller scan_region.", what,
                  (double)plan->least / 1e9, (double)plan->budget / 1e9, plan->given ? "allowed" : "free",
                  (double)(plan->least / (10 * MB) + 1) / 100);
}

gboolean
plan_allows (const SbEngine *engine, guint64 bytes, const char *what, GError **error)
{
  SbPlan plan = { .least = bytes };
  take_budget (engine, 0, &plan);
  return plan.least <= plan.budget || too_small (&plan, what, error);
}

gboolean
plan_columns (const SbEngine *engine, guint64 columns, gint64 positions, guint64 frame, gboolean *in_file, GError **error)
{
  enum { FRAMES = 256, A_POSITION = 32 };
  SbPlan plan = { .columns = columns };
  take_budget (engine, 0, &plan);
  plan.beside = BASE + (guint64)positions * A_POSITION + engine->threads * MIN (frame * FRAMES, 32 * (guint64)MB);
  plan.need = plan.beside + columns;
  plan.least = plan.beside + plan_slack (engine);
  *in_file = plan.need > plan.budget;
  if (plan.least > plan.budget)
    return too_small (&plan, "The sums over the frames", error);
  if (*in_file)
    g_info ("The counts of the bright field take %.2f GB; of %.2f GB of memory that is too much: they go to a scratch file in "
            "%s.",
            (double)columns / 1e9, (double)plan.budget / 1e9, scratch_folder ());
  return TRUE;
}

/* ---- G ---- */

/* Beside G: what stays, and the largest of what comes and goes. */
static guint64
beside (const SbEngine *engine, const SbPlanned *what, gboolean in_parts)
{
  enum { A_POSITION = 32, A_FREQUENCY = 40, A_SUM = 48, AN_IMAGE_PIXEL = 100, A_LISTED = 64 };
  guint64 n = (guint64)what->positions, q = (guint64)what->n_q, size = engine->precise ? 8 : 4;
  guint64 fft = engine->threads * FFT_AT_ONCE * n * size
                + (what->in_file ? plan_slack (engine) + engine->threads * what->column : 0);
  guint64 image = (guint64)(what->upsampling * what->upsampling) * n * AN_IMAGE_PIXEL;
  guint64 moments = (q / SBK_LANES + 1) * SBK_CARRY_GRADIENT * sizeof (double);
  guint64 pass = MIN (moments, plan_carry (engine)) + A_SUM * q;
  guint64 stays = BASE + n * A_POSITION + q * A_FREQUENCY;
  if (in_parts)
    return stays + fft + MAX (pass, image);
  return stays + MAX (MAX (fft, image), A_LISTED * q);
}

static void
say (const SbPlan *plan)
{
  g_autofree char *g = plan->in_parts ? sb_text ("made anew each pass, %.2f GB at once", (double)plan->room / 1e9)
                                      : g_strdup ("in memory");
  g_info ("Of %.2f GB of memory: G of %.2f GB %s, counts of %.2f GB in %s, %.2f GB for the rest.", (double)plan->budget / 1e9,
          (double)plan->g / 1e9, g, (double)plan->columns / 1e9, plan->in_file ? "a scratch file" : "memory",
          (double)plan->beside / 1e9);
}

/* A device with memory of its own: the counts stay in the host's, G and what its kernels need beside it on the device. A
 * backend that cannot work in parts finds out itself whether G fits. */
static gboolean
plan_device (const SbEngine *engine, const SbPlanned *what, SbPlan *plan, GError **error)
{
  const SbkBackend *backend = engine->backend;
  guint64 free = G_MAXUINT64 / 4;
  devices_say (engine);
  if (backend->memory != NULL && !devices_memory (engine, &free, error))
    return FALSE;
  free = backend->memory != NULL ? free / 10 * 9 : free;
  plan->given = engine->memory > 0 && engine->memory < free;
  plan->budget = plan->given ? engine->memory - MIN (what->on_device, engine->memory) : free;
  plan->in_file = what->in_file;
  plan->beside = plan->g / 8 + 256 * (guint64)MB;
  plan->need = plan->g + plan->beside;
  if (plan->need <= plan->budget || backend->gradient_part == NULL)
    return TRUE;
  plan->in_parts = TRUE;
  plan->beside = MIN ((guint64)(what->n_q / SBK_LANES + 1) * SBK_CARRY_GRADIENT * sizeof (double), plan_carry (engine))
                 + 256 * (guint64)MB;
  plan->least = plan->beside + (guint64)MAX (what->widest, 32) * plan_pixel (engine, what->n_q);
  if (plan->least > plan->budget)
    return too_small (plan, "The passes over the bright field", error);
  plan->room = plan->budget - plan->beside;
  say (plan);
  return TRUE;
}

gboolean
plan_spectrum (const SbEngine *engine, const SbPlanned *what, SbPlan *plan, GError **error)
{
  *plan = (SbPlan){ .columns = what->columns, .g = plan_pixel (engine, what->n_q) * (guint64)what->n_pixels };
  if (engine->backend->memory != NULL || engine->backend->gradient_part == NULL)
    return plan_device (engine, what, plan, error);
  take_budget (engine, what->in_file ? 0 : what->columns, plan);
  guint64 part = (guint64)MAX (what->widest, 32) * plan_pixel (engine, what->n_q);
  SbPlanned filed = *what;
  filed.in_file = TRUE;
  guint64 whole = beside (engine, what, FALSE), filed_whole = beside (engine, &filed, FALSE);
  guint64 parts = beside (engine, what, TRUE), filed_parts = beside (engine, &filed, TRUE);
  guint64 held = what->in_file ? 0 : what->columns;
  plan->need = whole + plan->g + what->columns;
  plan->least = MIN (filed_parts + part, filed_whole + plan->g);
  /* Where columns in memory would leave little room for G, the system's own cache of their file is the better place. */
  struct {
    guint64 beside, rest;
    gboolean in_file, in_parts;
  } ways[] = { { whole, plan->g + held, what->in_file, FALSE },
               { filed_whole, plan->g, TRUE, FALSE },
               { parts, plan->g / 4 + held, what->in_file, TRUE },
               { filed_parts, part, TRUE, TRUE } };
  gsize i = 0;
  while (i < G_N_ELEMENTS (ways) && ways[i].beside + ways[i].rest > plan->budget)
    i++;
  if (i == G_N_ELEMENTS (ways))
    return too_small (plan, "The passes over the bright field", error);
  plan->beside = ways[i].beside;
  plan->in_file = ways[i].in_file;
  plan->in_parts = ways[i].in_parts;
  if (plan->in_parts)
    plan->room = plan->budget - plan->beside - (plan->in_file ? 0 : what->columns);
  if (plan->in_parts || plan->in_file)
    say (plan);
  return TRUE;
}

json_t *
plan_report (const SbPlan *plan)
{
  json_t *object = json_object ();
  json_object_set_new (object, "unit", json_string ("GB"));
  json_object_set_new (object, "memory", plan->given ? json_real ((double)plan->budget / 1e9) : json_null ());
  json_object_set_new (object, "needed", json_real ((double)plan->need / 1e9));
  json_object_set_new (object, "g", json_real ((double)plan->g / 1e9));
  json_object_set_new (object, "columns", json_real ((double)plan->columns / 1e9));
  json_object_set_new (object, "g_in", json_string (plan->in_parts ? "parts" : "memory"));
  json_object_set_new (object, "columns_in", json_string (plan->in_file ? "scratch file" : "memory"));
  return object;
}
