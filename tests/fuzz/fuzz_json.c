/* JSON from outside: parameters, parameter files, earlier results, Nion's metadata. The first byte says which
 * way the text behind it comes in. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/nion_json.h"
#include "core/report.h"
#include "core/result.h"
#include "core/setup.h"
#include "plugin/command.h"
#include "plugin/options.h"
#include "tests/fuzz/fuzz_open.h"

enum { WAYS = 4 };

static const SbParamGroup *const *
list_of (guint i)
{
  static const SbParamGroup *const *const own[] = { session_groups, data_groups, pushed_groups };
  guint commands = 0;
  while (command_registry[commands] != NULL)
    commands++;
  i %= G_N_ELEMENTS (own) + commands;
  return i < G_N_ELEMENTS (own) ? own[i] : command_registry[i - G_N_ELEMENTS (own)]->groups;
}

static char *
recorded (const SbOptions *options)
{
  json_t *object = json_object ();
  options_record (options, object);
  char *text = json_text (object, FALSE);
  json_decref (object);
  if (text == NULL)
    abort ();
  return text;
}

/* What a run records gives the same run again. */
static void
parse (const char *text, const SbParamGroup *const *groups)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (SbOptions) options = options_parse (text, groups, "the target", &error);
  if ((options == NULL) != (error != NULL))
    abort ();
  if (options == NULL)
    return;
  g_autofree char *first = recorded (options);
  g_autoptr (SbOptions) again = options_parse (first, groups, "the target", NULL);
  g_autofree char *second = again != NULL ? recorded (again) : NULL;
  if (g_strcmp0 (first, second) != 0)
    abort ();
}

/* The text as the file that `params` names. */
static void
parse_file (const uint8_t *data, size_t size, const SbParamGroup *const *groups)
{
  if (!fuzz_write ("p.json", data, size, 0))
    return;
  g_autofree char *path = g_build_filename (fuzz_folder (), "p.json", NULL);
  g_autofree char *text = g_strdup_printf ("{\"params\": \"%s\"}", path);
  parse (text, groups);
}

static void
read_result (const SbResult *result)
{
  SbOptics optics = { .energy = 300, .semiangle = 20, .step = { 1, 1 } };
  SbCoordinates at;
  double centre[2], sampling, rotation;
  g_autofree char *orientation = NULL, *text = json_text (result->info, TRUE);
  report_read_calibration (result->info, centre, &sampling, &rotation, &orientation);
  if (report_read_coordinates (result->info, &optics, &at) && isnan (at.x[SB_DEPTH]))
    abort ();
  json_t *again = text != NULL ? json_loads (text, 0, NULL) : NULL;
  if (!json_equal (again, result->info)) /* what is written reads back to the same bits */
    abort ();
  json_decref (again);
}

/* The text as an earlier result, by itself and as what a fit starts from. */
static void
open_result (const uint8_t *data, size_t size)
{
  if (!fuzz_write ("x_fit.json", data, size, 0))
    return;
  g_autofree char *path = g_build_filename (fuzz_folder (), "x_fit.json", NULL);
  g_autoptr (GError) error = NULL;
  SbResult *result = result_open (path, &error);
  if ((result == NULL) != (error != NULL))
    abort ();
  if (result == NULL)
    return;
  read_result (result);
  result_free (result);
  for (int need = 0; need < 2; need++) {
    g_autoptr (GError) why = NULL;
    g_autofree char *text = g_strdup_printf ("{\"from\": \"%s\", \"energy\": 300, \"semiangle\": 20, \"step\": 1}", path);
    g_autoptr (SbOptions) options = options_parse (text, command_find ("run")->groups, "the target", NULL);
    const SbAcquisition acquisition = { .header = { .energy = NAN, .semiangle = NAN, .step = { NAN, NAN } } };
    SbPipelineOptions pipeline = command_pipeline (options);
    SbSetup setup;
    if (setup_init (&setup, &acquisition, &pipeline, need, &why) == (why != NULL))
      abort ();
    setup_clear (&setup);
  }
}

static void
read_nion (const char *text, size_t size, int rank)
{
  SbHeader header = { .energy = NAN, .semiangle = NAN, .step = { NAN, NAN }, .sampling = NAN, .reciprocal = NAN };
  g_autoptr (GError) error = NULL;
  header.warnings = g_ptr_array_new_with_free_func (g_free);
  if (nion_properties ("x", text, size, rank, &header, &error) == (error != NULL))
    abort ();
  g_ptr_array_unref (header.warnings);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  if (size < 1)
    return 0;
  const SbParamGroup *const *groups = list_of (data[0] / WAYS);
  guint way = data[0] % WAYS;
  data++;
  size--;
  g_autofree char *text = g_strndup ((const char *)data, size);
  if (way == 0)
    parse (text, groups);
  else if (way == 1)
    parse_file (data, size, groups);
  else if (way == 2)
    open_result (data, size);
  else {
    g_autofree uint8_t *exact = g_malloc (MAX (size, 1));
    memcpy (exact, data, size);
    read_nion ((const char *)exact, size, 3);
    read_nion ((const char *)exact, size, 4);
  }
  fuzz_clear ();
  return 0;
}
