/* Parameters as bytes choose them: rows of the catalog with values of their type. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/sideband.h"
#include "tests/fuzz/fuzz_abi.h"

/* With little memory: no scan is too large to be asked for. */
static const char *const session_texts[] = { "{\"threads\": 1, \"memory\": 0.5}", "{\"threads\": 2, \"memory\": 0.5}",
                                             "{\"threads\": 3, \"memory\": 0.06}",
                                             "{\"threads\": 2, \"memory\": 0.5, \"precision\": \"double\"}" };
static const char *const data_texts[] = { "{}", "{\"scan_region\": [0, 0, 16, 15]}", "{\"scan_shape\": [16, 16]}",
                                          "{\"scan_shape\": [8, 32]}" };
#define PUSHED "\"detector_shape\": [12, 12], \"scan_shape\": "
#define OPTICS "\"energy\": 300, \"semiangle\": 20, \"step\": 0.4"
#define CALIBRATION "\"rotation\": 0, \"orientation\": \"identity\", \"centre\": [5.5, 5.5], \"sampling\": 4.76"
static const char *const pushed_texts[] = { "{" PUSHED "[16, 16], \"dtype\": \"uint8\", " OPTICS "}",
                                            "{" PUSHED "[16, 16], \"dtype\": \"uint8\", " OPTICS ", " CALIBRATION "}",
                                            "{" PUSHED "[16, 16], \"dtype\": \"uint16\"}",
                                            "{" PUSHED "[16, 16], \"dtype\": \"float32\", " OPTICS ", " CALIBRATION "}",
                                            "{" PUSHED "[16, 16], \"dtype\": \"uint8\", \"scan_region\": [2, 0, 8, 16]}",
                                            "{" PUSHED "[3, 4], \"dtype\": \"uint32\"}" };
static const char *const command_texts[] = { "{" OPTICS ", " CALIBRATION "}",
                                             "{" OPTICS "}",
                                             "{" OPTICS ", " CALIBRATION ", \"method\": \"ssb\", \"coefficients\": \"C10=4\"}",
                                             "{" OPTICS ", " CALIBRATION ", \"output\": \"./\"}",
                                             "{" OPTICS ", \"inputs\": \"../tiny.npy\", \"output\": \"./\"}",
                                             "{" OPTICS ", \"scan_shape\": [8, 8], \"detector_shape\": [12, 12], "
                                             "\"sampling\": 5, \"thickness\": 4, \"output\": \"s\"}",
                                             "{}" };
static const struct {
  const char *const *texts;
  guint n;
} known[] = { { session_texts, G_N_ELEMENTS (session_texts) },
              { data_texts, G_N_ELEMENTS (data_texts) },
              { pushed_texts, G_N_ELEMENTS (pushed_texts) },
              { command_texts, G_N_ELEMENTS (command_texts) } };

/* ---- the catalog ---- */

static const json_t *
catalog (void)
{
  static json_t *root;
  if (root == NULL)
    root = json_loads (sb_catalog (), 0, NULL);
  if (root == NULL)
    abort ();
  return root;
}

const char *
tiny_command (guint choice)
{
  const json_t *commands = json_object_get (catalog (), "commands");
  gsize n = json_array_size (commands);
  choice %= (guint)n + 2;
  if (choice >= n)
    return choice == n ? "dance" : NULL;
  return json_string_value (json_object_get (json_array_get (commands, choice), "name"));
}

static const json_t *
groups_of (TinyList list, const char *command)
{
  static const char *const names[] = { "session", "data", "pushed" };
  if (list != LIST_COMMAND)
    return json_object_get (catalog (), names[list]);
  gsize i;
  const json_t *entry;
  json_array_foreach (json_object_get (catalog (), "commands"), i, entry)
    if (g_strcmp0 (json_string_value (json_object_get (entry, "name")), command) == 0)
      return json_object_get (entry, "groups");
  return json_object_get (catalog (), "data");
}

static const json_t *
row_of (const json_t *groups, guint choice)
{
  gsize all = 0, i;
  const json_t *group;
  json_array_foreach (groups, i, group)
    all += json_array_size (json_object_get (group, "rows"));
  choice %= (guint)all;
  json_array_foreach (groups, i, group) {
    const json_t *rows = json_object_get (group, "rows");
    if (choice < json_array_size (rows))
      return json_array_get (rows, choice);
    choice -= (guint)json_array_size (rows);
  }
  abort ();
}

/* ---- values ---- */

static double
number (Tape *tape, const json_t *row)
{
  static const double plain[] = { 0, 1, 2, 0.5, 5.5, 12, 16, -1, 300, 20, 1e-9, 1e9 };
  guint choice = tape_byte (tape);
  const json_t *limit = json_object_get (row, choice % 2 ? "min" : "max");
  if (choice >= 224 && json_is_number (limit))
    return json_number_value (limit);
  return choice < 128 ? plain[choice % G_N_ELEMENTS (plain)] : (choice - 128) / 8.0;
}

static json_t *
numbers (Tape *tape, const json_t *row, guint n, gboolean whole)
{
  json_t *list = json_array ();
  for (guint i = 0; i < n; i++) {
    double value = number (tape, row);
    json_array_append_new (list, whole ? json_integer ((json_int_t)value) : json_real (value));
  }
  return list;
}

static json_t *
words (Tape *tape)
{
  static const char *const texts[] = {
    "",       "C10=4",     "C10=4 C12=1 phi12=0.3",  "depth=1", "tilt_row", "C10=-20:20", "../tiny.npy",
    "uint16", "C30=1e300", "C10=4 depth=2 C21a=1e3", "auto",    "\xc3\xa9"
  };
  return json_string (texts[tape_byte (tape) % G_N_ELEMENTS (texts)]);
}

static json_t *
choice_of (Tape *tape, const json_t *row)
{
  const json_t *choices = json_object_get (row, "choices");
  guint choice = tape_byte (tape);
  json_t *value = choice < 240 && json_array_size (choices) > 0 ? json_array_get (choices, choice % json_array_size (choices))
                                                                : NULL;
  return value != NULL ? json_incref (value) : json_string ("no choice");
}

/* A value of the row's type. */
static json_t *
proper (Tape *tape, const json_t *row, const char *type)
{
  if (strcmp (type, "bool") == 0)
    return json_boolean (tape_byte (tape) % 2);
  if (strcmp (type, "int") == 0)
    return json_integer ((json_int_t)number (tape, row));
  if (strcmp (type, "double") == 0)
    return json_real (number (tape, row));
  if (strcmp (type, "choice") == 0)
    return choice_of (tape, row);
  if (strcmp (type, "text") == 0)
    return words (tape);
  if (strcmp (type, "path") == 0)
    return json_string (tiny_path (tape_byte (tape)));
  if (strcmp (type, "pair") == 0)
    return numbers (tape, row, 2, FALSE);
  if (strcmp (type, "shape") == 0)
    return numbers (tape, row, 2, TRUE);
  return numbers (tape, row, 4, TRUE);
}

static json_t *
value_of (Tape *tape, const json_t *row)
{
  const char *type = json_string_value (json_object_get (row, "type"));
  guint how = tape_byte (tape);
  if (how < 230)
    return proper (tape, row, type);
  return how < 236 ? json_null () : how < 242 ? json_string ("") : how < 248 ? numbers (tape, row, 3, TRUE) : words (tape);
}

/* Not all may be tried: more than a few threads, other processes, a module that is code, the machine's memory. */
static gboolean
allowed (const char *name)
{
  static const char *const not [] = { "threads", "engine", "cuda_module", "jobs", "memory" };
  for (guint i = 0; i < G_N_ELEMENTS (not ); i++)
    if (strcmp (name, not [i]) == 0)
      return FALSE;
  return TRUE;
}

char *
tiny_json (Tape *tape, TinyList list, const char *command)
{
  static const char *const odd[] = { "", "[]", "{", "{\"semiangel\": 3}", "7" };
  guint how = tape_byte (tape), rows = how >= 96 && how < 240 ? 1 + how % 4 : 0;
  if (list == LIST_SESSION && how >= 240)
    return g_strdup (odd[1 + how % (G_N_ELEMENTS (odd) - 1)]);
  if (how >= 240)
    return how < 250 ? g_strdup (odd[how % G_N_ELEMENTS (odd)]) : NULL;
  json_t *object = json_loads (known[list].texts[how % known[list].n], 0, NULL);
  for (guint i = 0; i < rows; i++) {
    const json_t *row = row_of (groups_of (list, command), tape_byte (tape));
    const char *name = json_string_value (json_object_get (row, "name"));
    json_t *value = value_of (tape, row);
    if (allowed (name))
      json_object_set (object, name, value);
    json_decref (value);
  }
  char *text = json_dumps (object, 0);
  json_decref (object);
  return text;
}
