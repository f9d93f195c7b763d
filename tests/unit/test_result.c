/* Results read back equal, numbers survive any locale, damaged and foreign files are refused in a sentence.
 */
#include <glib/gstdio.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/result.h"
#include "tests/unit/comma_locale.h"

static const double hard_numbers[] = { 0.1,  0.1 + 0.2, 1.0 / 3, 6.02214076e23,       1e-300,
                                       -2.5, 4,         1e22,    123456789.123456789, 5e-324 };

static SbArray *
add_array (SbResult *result, const char *name, int n_dims, const gint64 *shape, double step, const char *axis_unit)
{
  gint64 n = 1;
  for (int i = 0; i < n_dims; i++)
    n *= shape[i];
  float *data = g_new (float, n);
  for (gint64 i = 0; i < n; i++)
    data[i] = sinf ((float)i) * 1e-3f;
  SbArray *array = result_add (result, name, "a title with Å and µ", "rad", data, n_dims, shape);
  for (int i = 0; i < n_dims; i++) {
    array->step[i] = step * (i + 1);
    g_free (array->axis_unit[i]);
    array->axis_unit[i] = g_strdup (axis_unit);
  }
  return array;
}

static SbResult *
make_result (void)
{
  SbResult *result = result_new ();
  json_t *numbers = json_array ();
  for (guint i = 0; i < G_N_ELEMENTS (hard_numbers); i++)
    json_array_append_new (numbers, json_real (hard_numbers[i]));
  json_object_set_new (result->info, "numbers", numbers);
  json_object_set_new (result->info, "values",
                       json_pack ("{s:{s:f,s:n,s:s}, s:{s:f,s:f,s:s}}", "C10", "value", 6.068, "error", "unit", "nm", "depth",
                                  "value", 0.1 + 0.2, "error", 0.25, "unit", "nm"));
  json_object_set_new (
      result->info, "calibration",
      json_pack ("{s:[f,f],s:b,s:i,s:{s:s}}", "centre", 36.0, 35.25, "given", 1, "frames", 2500, "inner", "a/b", "text"));
  json_object_set_new (result->info, "coordinates", json_pack ("{s:f,s:s}", "C10", -8.7, "units", "rad"));
  json_object_set_new (result->info, "parameters", json_pack ("{s:f}", "semiangle", 30.0));
  json_object_set_new (result->info, "warnings", json_pack ("[s]", "“Quotes”, \"quotes\" and a\nline."));
  json_object_set_new (result->info, "version", json_string ("0.1.0"));
  json_object_set_new (result->info, "empty", json_pack ("{s:[],s:{}}", "list", "object"));
  add_array (result, "phase", 2, (const gint64[]){ 7, 11 }, 0.0125, "nm");
  add_array (result, "profile", 1, (const gint64[]){ 5 }, 0.5, "1/nm");
  add_array (result, "stack", 3, (const gint64[]){ 2, 3, 4 }, NAN, "");
  guint8 *rgb = g_malloc (6 * 5 * 3);
  for (int i = 0; i < 90; i++)
    rgb[i] = (guint8)(3 * i);
  result_add_picture (result, "picture", "calibration", rgb, 6, 5);
  return result;
}

static void
assert_same_array (const SbArray *a, const SbArray *b)
{
  g_assert_cmpstr (a->name, ==, b->name);
  g_assert_cmpstr (a->title, ==, b->title);
  g_assert_cmpstr (a->unit, ==, b->unit);
  g_assert_cmpint (a->n_dims, ==, b->n_dims);
  g_assert_cmpint (a->bytes, ==, b->bytes);
  g_assert_cmpint (array_size (a), ==, array_size (b));
  for (int i = 0; i < 3; i++) {
    g_assert_cmpint (a->shape[i], ==, b->shape[i]);
    g_assert_true (a->step[i] == b->step[i] || (isnan (a->step[i]) && isnan (b->step[i])));
    g_assert_cmpstr (a->axis_unit[i], ==, b->axis_unit[i]);
  }
  gsize n = (gsize)array_size (a);
  if (a->bytes)
    g_assert_cmpmem (a->pixels, n, b->pixels, n);
  else
    g_assert_cmpmem (a->data, n * sizeof (float), b->data, n * sizeof (float));
}

static void
assert_same (const SbResult *a, const SbResult *b)
{
  g_assert_true (json_equal (a->info, b->info));
  g_assert_cmpuint (a->arrays->len, ==, b->arrays->len);
  for (guint i = 0; i < a->arrays->len; i++)
    assert_same_array (g_ptr_array_index (a->arrays, i), g_ptr_array_index (b->arrays, i));
}

static char *
new_path (const char *name)
{
  g_autofree char *folder = g_dir_make_tmp ("sideband-result-XXXXXX", NULL);
  g_assert_nonnull (folder);
  return g_build_filename (folder, name, NULL);
}

static void
remove_path (const char *path)
{
  g_autofree char *folder = g_path_get_dirname (path);
  g_assert_cmpint (g_unlink (path), ==, 0);
  g_assert_cmpint (g_rmdir (folder), ==, 0);
}

static void
test_hdf5 (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = new_path ("Ergebnis µ 測定 x_result.h5");
  SbResult *made = make_result ();
  g_assert_true (result_save (made, path, "hdf5", FALSE, &error));
  SbResult *read = result_open (path, &error);
  g_assert_no_error (error);
  assert_same (made, read);
  result_free (read);
  result_free (made);
  remove_path (path);
}

static void
test_json (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = new_path ("ü_fit.json"), *text = NULL;
  SbResult *made = make_result ();
  g_assert_true (result_save (made, path, "json", FALSE, &error));
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_assert_true (g_str_has_prefix (text, "{\n  \"numbers\": [0.1, 0.30000000000000004, 0.3333333333333333, 6.02214076e+23"));
  g_assert_true (g_str_has_suffix (text, "\n}\n"));
  SbResult *read = result_open (path, &error);
  g_assert_no_error (error);
  g_assert_true (json_equal (made->info, read->info));
  g_assert_cmpuint (read->arrays->len, ==, 0);
  result_free (read);
  result_free (made);
  remove_path (path);
}

static void
test_same_bytes (void)
{
  g_autofree char *path = new_path ("x"), *first = NULL, *second = NULL;
  gsize n_first, n_second;
  SbResult *made = make_result ();
  for (guint i = 0; writer_registry[i] != NULL; i++) {
    g_clear_pointer (&first, g_free);
    g_clear_pointer (&second, g_free);
    if (!result_save (made, path, writer_registry[i]->name, TRUE, NULL)) {
      g_assert_false (writer_registry[i]->applies (made)); /* what it writes is not in this result */
      continue;
    }
    g_assert_true (g_file_get_contents (path, &first, &n_first, NULL));
    g_usleep (1100000 * (i == 0)); /* times in a file have seconds */
    g_assert_true (result_save (made, path, writer_registry[i]->name, TRUE, NULL));
    g_assert_true (g_file_get_contents (path, &second, &n_second, NULL));
    g_assert_cmpmem (first, n_first, second, n_second);
  }
  result_free (made);
  remove_path (path);
}

static void
assert_refused (const char *path, const char *words)
{
  g_autoptr (GError) error = NULL;
  g_assert_null (result_open (path, &error));
  g_assert_nonnull (error);
  g_assert_true (error->domain == SB_ERROR);
  g_assert_nonnull (strstr (error->message, path));
  g_assert_true (g_str_has_suffix (error->message, ".") && !g_str_has_suffix (error->message, ".."));
  if (strstr (error->message, words) == NULL)
    g_error ("\"%s\" is not in: %s", words, error->message);
}

static void
test_foreign (void)
{
  g_autofree char *path = new_path ("foreign"), *folder = g_path_get_dirname (path);
  static const struct {
    const char *text, *words;
  } cases[] = {
    { "", "not a result" },
    { "C10 = 5", "not a result" },
    { "{\"a\": 1}", "not of Sideband" },
    { "{\"a\": ", "damaged" },
    { "  {\"version\": 3}", "not of" },
    { "\x89HDF\r\n\x1a\n", "" },
    { "[{\"version\": \"1\"}]", "not a result" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_assert_true (g_file_set_contents (path, cases[i].text, -1, NULL));
    assert_refused (path, cases[i].words);
  }
  g_autoptr (GString) deep = g_string_new ("{\"version\": ");
  for (int i = 0; i < 100000; i++)
    g_string_append_c (deep, '[');
  g_assert_true (g_file_set_contents (path, deep->str, -1, NULL));
  assert_refused (path, "damaged");
  assert_refused (folder, "not a file");
  remove_path (path);
  assert_refused (path, "check the name");
  const char *examples = g_getenv ("SB_EXAMPLES");
  g_autofree char *film = g_strconcat (examples != NULL ? examples : ".", "/acquisitions/film_master.h5", NULL);
  if (g_file_test (film, G_FILE_TEST_EXISTS))
    assert_refused (film, "not a result");
  else
    g_test_skip ("no foreign HDF5 file: SB_EXAMPLES is not set");
}

/* Whatever happens to its bytes: a sentence, never a crash and never a wrong number. */
static void
test_damaged (void)
{
  g_autofree char *path = new_path ("x_result.h5"), *bytes = NULL;
  gsize n = 0;
  guint refused = 0;
  SbResult *made = make_result ();
  g_assert_true (result_save (made, path, "hdf5", FALSE, NULL));
  result_free (made);
  g_assert_true (g_file_get_contents (path, &bytes, &n, NULL));
  g_autofree char *intact = g_memdup2 (bytes, n);
  for (gsize cut = 9; cut < n; cut += 1 + n / 60) {
    g_assert_true (g_file_set_contents (path, bytes, (gssize)cut, NULL));
    assert_refused (path, "");
  }
  g_autoptr (GRand) random = g_rand_new_with_seed (20240501);
  for (int i = 0; i < 1500; i++) {
    g_autoptr (GError) error = NULL;
    gsize at[8];
    char kept[8];
    int changes = g_rand_int_range (random, 1, 9);
    for (int k = 0; k < changes; k++) {
      at[k] = (gsize)g_rand_int_range (random, 0, (gint32)n - 16); /* before the seal */
      kept[k] = bytes[at[k]];
      bytes[at[k]] = (char)g_rand_int_range (random, 0, 256);
    }
    FILE *file = g_fopen (path, "wb"); /* no fsync: fast */
    g_assert_cmpuint (fwrite (bytes, 1, n, file), ==, n);
    fclose (file);
    SbResult *read = result_open (path, &error);
    g_assert_true ((read != NULL) != (error != NULL));
    g_assert_true ((read == NULL) == (memcmp (bytes, intact, n) != 0));
    refused += read == NULL;
    result_free (read);
    for (int k = changes; k-- > 0;)
      bytes[at[k]] = kept[k];
  }
  g_test_message ("%u of 1500 refused", refused);
  g_assert_cmpuint (refused, >, 0);
  remove_path (path);
}

static void
test_locale (void)
{
  g_autofree char *text = NULL, *path = new_path ("x"), *first = NULL, *second = NULL;
  gsize n_first, n_second;
  SbResult *made = make_result ();
  g_autofree char *plain = json_text (made->info, TRUE);
  g_assert_true (result_save (made, path, "tiff", FALSE, NULL));
  g_assert_true (g_file_get_contents (path, &first, &n_first, NULL));
  if (!set_comma_locale ()) {
    g_test_skip ("no locale with a decimal comma, and localedef cannot make one");
  } else {
    text = json_text (made->info, TRUE);
    gboolean saved = result_save (made, path, "tiff", FALSE, NULL);
    json_t *again = json_loads (text, 0, NULL);
    setlocale (LC_ALL, "C");
    g_assert_cmpstr (text, ==, plain);
    g_assert_true (saved && json_equal (again, made->info));
    json_decref (again);
    g_assert_true (g_file_get_contents (path, &second, &n_second, NULL));
    g_assert_cmpmem (first, n_first, second, n_second);
  }
  result_free (made);
  remove_path (path);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/result/hdf5", test_hdf5);
  g_test_add_func ("/result/json", test_json);
  g_test_add_func ("/result/same_bytes", test_same_bytes);
  g_test_add_func ("/result/foreign", test_foreign);
  g_test_add_func ("/result/damaged", test_damaged);
  g_test_add_func ("/result/locale", test_locale);
  return g_test_run ();
}
