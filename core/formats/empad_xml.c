#include "core/formats/empad_xml.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/flatfile.h"

enum { MOST_XML = 4 << 20, MOST_TEXT = 256, MOST_DEPTH = 64, MOST_COUNT = 1 << 30, MOST_SIDE = 1 << 20 };

typedef struct Parsing {
  SbEmpadXml *xml;
  GString *path; /* "/root/scan_parameters/scan_size" */
  int depth;
  gint64 *mode; /* of the scan_parameters that are open; NULL: none */
  gboolean is_root;
} Parsing;

static gint64
whole (const char *text)
{
  char *end;
  guint64 value = g_ascii_strtoull (text, &end, 10);
  return g_ascii_isdigit (*text) && *end == '\0' && value <= MOST_COUNT ? (gint64)value : 0;
}

static double
real (const char *text)
{
  char *end;
  double value = g_ascii_strtod (text, &end);
  return end != text && isfinite (value) && value > 0 ? value : NAN;
}

static const char *
attribute (const char **names, const char **values, const char *name)
{
  for (int i = 0; names[i] != NULL; i++)
    if (strcmp (names[i], name) == 0)
      return values[i];
  return NULL;
}

static void
start_element (GMarkupParseContext *context, const char *name, const char **names, const char **values, gpointer data,
               GError **error)
{
  Parsing *p = data;
  if (++p->depth > MOST_DEPTH) {
    g_set_error_literal (error, G_MARKUP_ERROR, G_MARKUP_ERROR_INVALID_CONTENT, "too many levels");
    return;
  }
  g_string_append_printf (p->path, "/%s", name);
  p->is_root = p->is_root || strcmp (p->path->str, "/root") == 0;
  if (strcmp (p->path->str, "/root/raw_file") == 0 && p->xml->raw == NULL) {
    const char *file = attribute (names, values, "filename");
    for (const char *at = file; at != NULL && *at != '\0'; at++)
      if (*at == '/' || *at == '\\') /* the folder is that of the microscope's computer */
        file = at + 1;
    p->xml->raw = g_strdup (file);
  } else if (strcmp (p->path->str, "/root/scan_parameters") == 0) {
    const char *mode = attribute (names, values, "mode");
    p->mode = g_strcmp0 (mode, "acquire") == 0 ? p->xml->acquire : g_strcmp0 (mode, "search") == 0 ? p->xml->search : NULL;
  }
}

static void
end_element (GMarkupParseContext *context, const char *name, gpointer data, GError **error)
{
  Parsing *p = data;
  char *slash = strrchr (p->path->str, '/');
  p->depth--;
  if (strcmp (p->path->str, "/root/scan_parameters") == 0)
    p->mode = NULL;
  g_string_truncate (p->path, slash != NULL ? (gsize)(slash - p->path->str) : 0);
}

static void
take_scan (Parsing *p, const char *name, const char *value)
{
  if (strcmp (name, "series_count") == 0)
    p->xml->count = whole (value);
  if (p->mode == NULL)
    return;
  if (strcmp (name, "scan_resolution_y") == 0)
    p->mode[0] = whole (value);
  else if (strcmp (name, "scan_resolution_x") == 0)
    p->mode[1] = whole (value);
  else if (strcmp (name, "scan_size") == 0 && p->mode == p->xml->acquire)
    p->xml->scan_size = real (value);
}

static void
take_text (GMarkupParseContext *context, const char *text, gsize n, gpointer data, GError **error)
{
  static const char scan[] = "/root/scan_parameters/", measured[] = "/root/iom_measurements/";
  Parsing *p = data;
  const char *path = p->path->str;
  if (n > MOST_TEXT)
    return;
  g_autofree char *value = g_strstrip (g_strndup (text, n));
  if (g_str_has_prefix (path, scan))
    take_scan (p, path + strlen (scan), value);
  else if (strcmp (path, "/root/type") == 0)
    p->xml->series = strcmp (value, "series") == 0;
  else if (strcmp (path, "/root/count") == 0)
    p->xml->count = whole (value);
  else if (strcmp (path, "/root/pix_y") == 0)
    p->xml->pix[0] = whole (value);
  else if (strcmp (path, "/root/pix_x") == 0)
    p->xml->pix[1] = whole (value);
  else if (g_str_has_prefix (path, measured)) {
    path += strlen (measured);
    if (strcmp (path, "high_voltage") == 0 || strcmp (path, "source.get_voltage") == 0)
      p->xml->voltage = real (value);
    else if (strcmp (path, "full_scan_field_of_view/x") == 0)
      p->xml->field = real (value);
    else if (strcmp (path, "optics.get_full_scan_field_of_view") == 0 && value[0] == '[')
      p->xml->field = real (value + 1);
  }
}

gboolean
empad_xml_read (const char *path, SbEmpadXml *xml, GError **error)
{
  static const GMarkupParser parser = { start_element, end_element, take_text, NULL, NULL };
  SbFlatFile *file = flatfile_open (path, error);
  *xml = (SbEmpadXml){ .scan_size = NAN, .field = NAN, .voltage = NAN };
  if (file == NULL)
    return FALSE;
  gint64 size = flatfile_size (file);
  g_autofree char *text = size <= MOST_XML ? g_try_malloc0 ((gsize)size + 1) : NULL;
  gboolean good = text != NULL && flatfile_bytes (file, 0, (gsize)size, text, error) == size;
  flatfile_close (file);
  Parsing parsing = { .xml = xml, .path = g_string_new (NULL) };
  GMarkupParseContext *context = g_markup_parse_context_new (&parser, 0, &parsing, NULL);
  good = good && g_markup_parse_context_parse (context, text, (gssize)size, NULL)
         && g_markup_parse_context_end_parse (context, NULL) && parsing.is_root;
  g_markup_parse_context_free (context);
  g_string_free (parsing.path, TRUE);
  /* A scan has not that many columns, whatever the file says. */
  for (int i = 0; i < 2; i++)
    if (MAX (MAX (xml->pix[i], xml->acquire[i]), xml->search[i]) > MOST_SIDE)
      xml->pix[i] = xml->acquire[i] = xml->search[i] = 0;
  if (good)
    return TRUE;
  empad_xml_clear (xml);
  return sb_fail (error, SB_ERROR_DATA, "%s is no readable EMPAD header (XML): copy it again.", path);
}

void
empad_xml_clear (SbEmpadXml *xml)
{
  g_clear_pointer (&xml->raw, g_free);
}

gboolean
empad_name_shape (const char *raw, gint64 shape[2])
{
  const char *at = raw != NULL ? strstr (raw, "scan_x") : NULL;
  if (at == NULL)
    return FALSE;
  char *end;
  shape[1] = (gint64)g_ascii_strtoull (at + strlen ("scan_x"), &end, 10);
  if (!g_str_has_prefix (end, "_y"))
    return FALSE;
  shape[0] = (gint64)g_ascii_strtoull (end + 2, &end, 10);
  return *end == '.' && shape[0] > 0 && shape[1] > 0 && shape[0] <= MOST_SIDE && shape[1] <= MOST_SIDE;
}
