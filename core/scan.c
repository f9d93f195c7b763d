#include "core/scan.h"

#include <math.h>
#include <string.h>

#include "core/error.h"

#define D "%" G_GINT64_FORMAT

/* Frames that the acquisition had when it was whole, as far as that is known. */
static gint64
promised (const SbHeader *header)
{
  return header->missing != NULL ? MAX (header->expected_frames, header->frames) : header->frames;
}

static gint64
square_root (gint64 n)
{
  gint64 root = (gint64)floor (sqrt ((double)n) + 0.5);
  return root * root == n ? root : 0;
}

/* "6,7 or 7,6 or 3,14 ...": the factor pairs of n, the squarest first; NULL where n is prime. */
static char *
factor_pairs (gint64 n)
{
  GString *text = g_string_new (NULL);
  int found = 0;
  for (gint64 a = (gint64)floor (sqrt ((double)n)); a >= 2 && found < 4; a--)
    if (n % a == 0) {
      g_string_append_printf (text, "%s" D "," D, found > 0 ? " or " : "", a, n / a);
      if (a != n / a)
        g_string_append_printf (text, " or " D "," D, n / a, a);
      found++;
    }
  return g_string_free (text, found == 0);
}

static gboolean
ask_shape (const char *name, gint64 frames, GError **error)
{
  if (frames == 1)
    return sb_fail (error, SB_ERROR_DATA, "%s holds one frame; a scan of frames is needed.", name);
  g_autofree char *pairs = frames > 0 && frames < G_GINT64_CONSTANT (1000000000000) ? factor_pairs (frames) : NULL;
  if (pairs != NULL)
    return sb_fail (error, SB_ERROR_ARGUMENT,
                    "%s has " D
                    " frames, which is no square, and does not say its scan shape: give scan_shape (rows,cols), for "
                    "example %s.",
                    name, frames, pairs);
  return sb_fail (error, SB_ERROR_ARGUMENT,
                  "%s has " D " frames, which no scan of whole rows has, and does not say its scan shape: give scan_shape "
                  "(rows,cols).",
                  name, frames);
}

/* User, then file, then an exact square root. */
static gboolean
choose_shape (SbAcquisition *a, const char *name, GError **error)
{
  const gint64 *given = a->options.scan_shape;
  gint64 frames = promised (&a->header), product;
  if (given[0] != 0 || given[1] != 0) {
    a->scan_rows = given[0];
    a->scan_cols = given[1];
  } else if (a->header.scan_rows > 0 && a->header.scan_cols > 0) {
    a->scan_rows = a->header.scan_rows;
    a->scan_cols = a->header.scan_cols;
  } else if ((a->scan_rows = a->scan_cols = square_root (frames)) <= 1)
    return ask_shape (name, frames, error);
  if (a->scan_rows <= 0 || a->scan_cols <= 0 || __builtin_mul_overflow (a->scan_rows, a->scan_cols, &product)
      || product > G_MAXINT64 / 2)
    return sb_fail (error, SB_ERROR_ARGUMENT, "scan_shape " D "," D " is not possible: give the rows and columns of the scan.",
                    a->scan_rows, a->scan_cols);
  return TRUE;
}

/* Columns beyond the scan at the end of each row of n frames; -1: n is not the scan with flyback. Scanners
 * need up to two columns or a small part of the row to fly back; more than that is another scan shape. */
static gint64
flyback_of (const SbAcquisition *a, gint64 n)
{
  gint64 row = n / a->scan_rows, surplus = row - a->scan_cols;
  return n % a->scan_rows == 0 && surplus >= 0 && surplus <= MAX (a->scan_cols / 4, 2) ? surplus : -1;
}

/* Names what is wrong with too few frames, and offers the rows that are whole. */
static gboolean
refuse_incomplete (const SbAcquisition *a, const char *name, gint64 needed, gint64 whole_rows, GError **error)
{
  const SbHeader *header = &a->header;
  SbErrorCode code = header->missing != NULL ? SB_ERROR_IO : SB_ERROR_DATA;
  g_autofree char *what = header->missing != NULL ? g_strdup (header->missing) : g_strdup_printf ("%s is incomplete.", name);
  gsize length = strlen (what);
  if (length > 0 && what[length - 1] == '.')
    what[length - 1] = '\0';
  if (whole_rows < 1)
    return sb_fail (error, code, "%s; " D " of " D " frames are there, not one complete row of the " D " x " D " scan.", what,
                    header->frames, needed, a->scan_rows, a->scan_cols);
  return sb_fail (error, code,
                  "%s; " D " of " D " frames are there: give partial to use the " D " complete rows of the " D " x " D " scan.",
                  what, header->frames, needed, whole_rows, a->scan_rows, a->scan_cols);
}

/* Flyback columns, and how many scan rows are wholly there (*whole_rows). */
static gboolean
match_frames (SbAcquisition *a, const char *name, gint64 *whole_rows, GError **error)
{
  SbHeader *header = &a->header;
  gint64 scan = a->scan_rows * a->scan_cols, frames = header->frames, all = promised (header);
  a->flyback = flyback_of (a, all);
  if (a->flyback < 0 && header->expected_frames > all) {
    all = header->expected_frames; /* stopped early: the headers may know what a whole row is */
    a->flyback = flyback_of (a, all);
  }
  gboolean unsure = a->flyback < 0;
  if (unsure && frames > scan)
    return sb_fail (error, SB_ERROR_DATA,
                    "%s has " D " frames, " D " more than a " D " x " D " scan, and not the same number more in each row: give "
                    "the scan_shape that they have.",
                    name, frames, frames - scan, a->scan_rows, a->scan_cols);
  a->flyback = MAX (a->flyback, 0);
  if (a->flyback > 0)
    g_ptr_array_add (header->warnings, g_strdup_printf (D " flyback columns at the end of each scan row are left out (" D
                                                          " frames for a " D " x " D " scan).",
                                                        a->flyback, all, a->scan_rows, a->scan_cols));
  *whole_rows = MIN (frames / (a->scan_cols + a->flyback), a->scan_rows);
  gint64 needed = unsure ? MAX (scan, header->missing != NULL ? header->expected_frames : 0)
                         : a->scan_rows * (a->scan_cols + a->flyback);
  if (frames >= needed && header->missing == NULL)
    return TRUE;
  if (!a->options.partial || *whole_rows < 1)
    return refuse_incomplete (a, name, needed, *whole_rows, error);
  g_ptr_array_add (header->warnings,
                   g_strdup_printf ("Partial: " D " of " D " frames are there; " D " complete rows of the " D " x " D
                                    " scan are used%s.%s%s",
                                    frames, needed, *whole_rows, a->scan_rows, a->scan_cols,
                                    unsure ? ", taken to have no flyback columns" : "", header->missing != NULL ? " " : "",
                                    header->missing != NULL ? header->missing : ""));
  return TRUE;
}

static gboolean
check_region (SbAcquisition *a, GError **error)
{
  const gint64 *asked = a->options.scan_region;
  const gint64 size[2] = { a->scan_rows, a->scan_cols };
  for (int i = 0; i < 2; i++) {
    gint64 from = asked[i], n = asked[i + 2];
    if (from < 0 || n < 0 || from >= size[i] || n > size[i] - from)
      return sb_fail (error, SB_ERROR_ARGUMENT,
                      "scan_region " D "," D "," D "," D " (row,col,rows,cols) is not inside the " D " x " D " scan.", asked[0],
                      asked[1], asked[2], asked[3], a->scan_rows, a->scan_cols);
    a->region[i] = from;
    a->region[i + 2] = n > 0 ? n : size[i] - from;
  }
  return TRUE;
}

gboolean
scan_resolve (SbAcquisition *a, const char *name, GError **error)
{
  gint64 whole_rows = 0;
  if (!choose_shape (a, name, error) || !match_frames (a, name, &whole_rows, error) || !check_region (a, error))
    return FALSE;
  a->used_rows = MIN (a->region[2], whole_rows - a->region[0]);
  a->used_cols = a->region[3];
  if (a->used_rows >= 1)
    return TRUE;
  return sb_fail (error, SB_ERROR_ARGUMENT,
                  "scan_region begins at row " D ", but only " D " rows are complete: give one among those.", a->region[0],
                  whole_rows);
}
