#include "core/notes.h"

#include "core/descan.h"
#include "core/error.h"

#define D "%" G_GINT64_FORMAT

/* A first row below this share of the others was recorded before the beam was there. */
static const double DARK = 0.2;

static void note (GPtrArray *notes, const char *format, ...) G_GNUC_PRINTF (2, 3);

static void
note (GPtrArray *notes, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_ptr_array_add (notes, sb_text_va (format, args));
  va_end (args);
}

static void
note_empty (const SbColumns *columns, GPtrArray *notes)
{
  gint64 n = 0, first = -1;
  for (gint64 p = 0; p < columns->positions; p++)
    if (!(columns->frame_sum[p] > 0) && n++ == 0)
      first = acquisition_frame (columns->acquisition, p);
  if (n > 0)
    note (notes,
          n == 1 ? D " of " D " frames is empty: frame " D "." : D " of " D " frames are empty; the first is frame " D ".", n,
          columns->positions, first);
}

static void
note_damaged (const SbColumns *columns, GPtrArray *notes)
{
  g_autofree char *why = NULL;
  gint64 n = mend_damaged (columns->acquisition, &why);
  if (n > 0)
    note (notes, D " frame%s cannot be decoded and %s taken as empty. The first: %s", n, n == 1 ? "" : "s",
          n == 1 ? "is" : "are", why);
}

/* Mean counts of a scan row. */
static double
row_mean (const SbColumns *columns, gint64 row)
{
  gint64 cols = columns->acquisition->used_cols;
  double sum = 0;
  for (gint64 c = 0; c < cols; c++)
    sum += columns->frame_sum[row * cols + c];
  return sum / (double)cols;
}

static void
note_dark_row (const SbColumns *columns, GPtrArray *notes)
{
  const SbAcquisition *a = columns->acquisition;
  double rest = 0, first = row_mean (columns, 0);
  if (a->used_rows < 4)
    return;
  for (gint64 r = 1; r < a->used_rows; r++)
    rest += row_mean (columns, r) / (double)(a->used_rows - 1);
  if (rest > 0 && first < DARK * rest)
    note (notes,
          "The first scan row holds %.3g %% of the counts of the others: give scan_region " D "," D "," D "," D
          " to leave it out.",
          100 * first / rest, a->region[0] + 1, a->region[1], a->used_rows - 1, a->used_cols);
}

static void
note_pixels (const SbColumns *columns, GPtrArray *notes)
{
  const SbPattern *pattern = &columns->pattern;
  if (pattern->hot > 0)
    note (notes, D " hot pixel%s left out.", pattern->hot, pattern->hot == 1 ? " is" : "s are");
  if (pattern->not_finite > 0)
    note (notes, D " detector pixel%s without a number in some frame and left out.", pattern->not_finite,
          pattern->not_finite == 1 ? " is" : "s are");
  if (pattern->saturated > 0)
    note (notes, D " detector pixel%s saturated in some frame and used as %s.", pattern->saturated,
          pattern->saturated == 1 ? " is" : "s are", pattern->saturated == 1 ? "it is" : "they are");
}

static void
note_descan (const SbColumns *columns, GPtrArray *notes)
{
  const SbPlane *removed = mend_plane (columns->acquisition);
  SbPlane plane;
  double travel[2];
  gboolean found = removed == NULL && descan_fit (columns, &plane, travel) && descan_matters (columns, &plane, travel);
  if (removed == NULL && !found)
    return;
  const SbPlane *told = removed != NULL ? removed : &plane;
  note (notes, "The disk moves with the scan (descan): by (%.3g, %.3g) pixels a scan row and (%.3g, %.3g) a scan column%s.",
        told->by_row[0], told->by_row[1], told->by_col[0], told->by_col[1],
        removed != NULL ? ", which is removed" : "; give descan remove to take that out");
}

void
notes_of_columns (const SbColumns *columns, GPtrArray *notes)
{
  note_damaged (columns, notes);
  note_empty (columns, notes);
  note_dark_row (columns, notes);
  note_pixels (columns, notes);
  note_descan (columns, notes);
}
