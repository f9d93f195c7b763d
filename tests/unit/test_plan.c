/* The memory plan: which tier for which budget, and that what it names as the remedy is one. Scratch files. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/columns.h"
#include "core/error.h"
#include "core/plan.h"
#include "core/scratch.h"

#define GB 1000000000.0

/* 1024 x 1024 scan points, a disk of 15 pixels, uint16. */
static const SbPlanned large = { .positions = 1024 * 1024,
                                 .n_pixels = 707,
                                 .n_q = 520000,
                                 .widest = 31,
                                 .upsampling = 1,
                                 .column = 2 << 20,
                                 .columns = (guint64)1046 << 21 };

static SbEngine *
engine_of (guint64 memory)
{
  SbEngineOptions options;
  param_group_defaults (&engine_params, &options);
  g_free (options.backend);
  options.backend = g_strdup ("cpu");
  options.threads = 2;
  SbEngine *engine = engine_new (&options, NULL);
  param_group_clear (&engine_params, &options);
  engine->memory = memory;
  return engine;
}

static void
test_tiers (void)
{
  SbEngine *engine = engine_of (0);
  int seen[4] = { 0 }, last = 3;
  guint64 room = 0;
  SbPlan plan;
  /* from nothing to plenty: never back to a slower tier, never more than the budget */
  for (guint64 memory = 400; memory <= 7000; memory += 20) {
    engine->memory = memory * 1000000;
    if (!plan_spectrum (engine, &large, &plan, NULL)) {
      g_assert_cmpint (last, ==, 3);
      g_assert_cmpuint (plan.least, >, plan.budget);
      g_assert_cmpint (seen[3], ==, 0);
      continue;
    }
    int tier = (plan.in_parts ? 2 : 0) + (plan.in_file ? 1 : 0);
    guint64 held = plan.beside + (plan.in_file ? 0 : plan.columns) + (plan.in_parts ? plan.room : plan.g);
    g_assert_cmpuint (plan.budget, ==, engine->memory);
    g_assert_cmpuint (held, <=, plan.budget);
    g_assert_cmpint (tier, <=, last);
    if (plan.in_parts && tier == last)
      g_assert_cmpuint (plan.room, >, room);
    room = plan.room;
    last = tier;
    seen[tier]++;
  }
  /* parts of G from columns in a file, then all of G, then the columns in memory too */
  g_assert_cmpint (seen[3], >, 0);
  g_assert_cmpint (seen[1], >, 0);
  g_assert_cmpint (seen[0], >, 0);
  engine->memory = 0;
  SbPlanned small = large;
  small.positions = 1024;
  small.n_q = 512;
  small.columns = 1046 << 11;
  g_assert_true (plan_spectrum (engine, &small, &plan, NULL));
  g_assert_false (plan.given || plan.in_parts || plan.in_file);
  engine_free (engine);
}

/* Columns that are small beside G stay in memory while G goes in parts. */
static void
test_columns_stay (void)
{
  SbEngine *engine = engine_of (2400 * (guint64)1000000);
  SbPlanned what = large;
  SbPlan plan;
  what.column >>= 1;
  what.columns >>= 1;
  g_assert_true (plan_spectrum (engine, &what, &plan, NULL));
  g_assert_true (plan.in_parts);
  g_assert_false (plan.in_file);
  json_t *report = plan_report (&plan);
  g_assert_cmpstr (json_string_value (json_object_get (report, "g_in")), ==, "parts");
  g_assert_cmpstr (json_string_value (json_object_get (report, "columns_in")), ==, "memory");
  g_assert_cmpfloat_with_epsilon (json_number_value (json_object_get (report, "memory")), 2.4, 1e-9);
  g_assert_cmpfloat_with_epsilon (json_number_value (json_object_get (report, "g")), 707 * 520000.0 * 8 / GB, 1e-9);
  json_decref (report);
  engine_free (engine);
}

/* The number in "give memory = X or more". */
static double
remedy_of (const GError *error)
{
  const char *at = strstr (error->message, "give memory = ");
  g_assert_nonnull (at);
  return g_ascii_strtod (at + strlen ("give memory = "), NULL);
}

static void
test_too_small (void)
{
  SbEngine *engine = engine_of (300 * (guint64)1000000);
  GError *error = NULL;
  SbPlan plan;
  gboolean in_file;
  g_assert_false (plan_spectrum (engine, &large, &plan, &error));
  g_assert_error (error, SB_ERROR, SB_ERROR_MEMORY);
  g_assert_true (g_str_has_suffix (error->message, "."));
  g_assert_nonnull (strstr (error->message, "0.30 GB"));
  engine->memory = (guint64)(remedy_of (error) * GB);
  g_clear_error (&error);
  g_assert_true (plan_spectrum (engine, &large, &plan, &error)); /* the remedy helps */
  g_assert_no_error (error);
  engine->memory = 50 * 1000000;
  g_assert_false (plan_columns (engine, large.columns, large.positions, 96 * 96 * 2, &in_file, &error));
  g_assert_error (error, SB_ERROR, SB_ERROR_MEMORY);
  engine->memory = (guint64)(remedy_of (error) * GB);
  g_clear_error (&error);
  g_assert_true (plan_columns (engine, large.columns, large.positions, 96 * 96 * 2, &in_file, &error));
  g_assert_true (in_file);
  engine->memory = 8000 * (guint64)1000000;
  g_assert_true (plan_columns (engine, large.columns, large.positions, 96 * 96 * 2, &in_file, &error));
  g_assert_false (in_file);
  engine_free (engine);
}

/* Resident pages of the file mapping, bytes. */
static gsize
resident (void)
{
  g_autofree char *text = NULL;
  g_assert_true (g_file_get_contents ("/proc/self/status", &text, NULL, NULL));
  const char *at = strstr (text, "RssFile:");
  return at != NULL ? (gsize)g_ascii_strtoull (at + strlen ("RssFile:"), NULL, 10) * 1024 : 0;
}

static void
test_scratch (void)
{
  enum { SIZE = 48 << 20, SLACK = 4 << 20, STEP = 1 << 20 };
  GError *error = NULL;
  SbScratch *scratch = scratch_new (SIZE, SLACK, "These numbers", &error);
  g_assert_no_error (error);
  gsize before = resident (), most = 0;
  for (gsize at = 0; at < SIZE; at += STEP) {
    memset (scratch->data + at, (int)(at / STEP) + 1, STEP);
    scratch_touch (scratch, STEP);
    most = MAX (most, resident ());
  }
  g_assert_cmpuint (most - MIN (before, most), <, SLACK + 4 * STEP);
  guint8 read[3] = { 0 };
  for (gsize at = 0; at < SIZE; at += STEP) {
    g_assert_true (scratch_read (scratch, at + 17, sizeof read, read));
    g_assert_cmpuint (read[2], ==, at / STEP + 1);
    g_assert_cmpuint ((guint8)scratch->data[at + STEP - 1], ==, at / STEP + 1);
  }
  g_assert_false (scratch_read (scratch, SIZE - 1, 2, read));
  scratch_free (scratch);
}

/* No room, no folder: a sentence that names the folder and the remedy. */
static void
test_no_scratch (void)
{
  GError *error = NULL;
  g_autofree char *before = g_strdup (g_getenv ("TMPDIR"));
  g_setenv ("TMPDIR", "/nowhere/at all", TRUE);
  g_assert_null (scratch_new (1000, 1000, "These numbers", &error));
  g_assert_error (error, SB_ERROR, SB_ERROR_IO);
  g_assert_nonnull (strstr (error->message, "/nowhere/at all"));
  g_assert_nonnull (strstr (error->message, "set TMPDIR"));
  g_clear_error (&error);
  if (before != NULL)
    g_setenv ("TMPDIR", before, TRUE);
  else
    g_unsetenv ("TMPDIR");
  g_assert_null (scratch_new ((gsize)1 << 61, 1000, "These numbers", &error));
  g_assert_nonnull (error);
  g_clear_error (&error);
}

/* Counts that move to a file are the same counts. */
static void
test_to_file (void)
{
  enum { PIXELS = 300, POSITIONS = 5000 };
  SbColumns columns = { .n_pixels = PIXELS, .held = PIXELS, .positions = POSITIONS, .dtype = SB_U16 };
  guint16 *counts = g_new (guint16, PIXELS * POSITIONS);
  for (gsize i = 0; i < PIXELS * POSITIONS; i++)
    counts[i] = (guint16)(i * 7919);
  columns.counts = counts;
  g_assert_true (columns_to_file (&columns, 100000, NULL));
  g_assert_nonnull (columns.scratch);
  for (gsize i = 0; i < PIXELS * POSITIONS; i++)
    g_assert_cmpuint (((guint16 *)columns.counts)[i], ==, (guint16)(i * 7919));
  gpointer where = columns.counts;
  columns_looked (&columns);
  g_assert_true (columns_to_file (&columns, 100000, NULL)); /* it is there */
  g_assert_true (columns.counts == where);
  scratch_free (columns.scratch);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plan/tiers", test_tiers);
  g_test_add_func ("/plan/columns-stay", test_columns_stay);
  g_test_add_func ("/plan/too-small", test_too_small);
  g_test_add_func ("/plan/scratch", test_scratch);
  g_test_add_func ("/plan/no-scratch", test_no_scratch);
  g_test_add_func ("/plan/to-file", test_to_file);
  return g_test_run ();
}
