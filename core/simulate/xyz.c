/* Atoms from an XYZ file: a count, a comment that may hold Lattice="ax ay az bx by bz cx cy cz", then symbol
 * x y z. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "core/error.h"
#include "core/simulate/specimen.h"

#define LARGEST_FILE 1e9
#define LARGEST_PLACE 1e6 /* angstrom */

/* n plain numbers from *at on; leaves *at behind them. */
static gboolean
take_numbers (const char **at, double *numbers, int n)
{
  for (int i = 0; i < n; i++) {
    char *end = NULL;
    numbers[i] = g_ascii_strtod (*at, &end);
    if (end == *at || !isfinite (numbers[i]) || fabs (numbers[i]) > LARGEST_PLACE)
      return FALSE;
    *at = end;
  }
  return TRUE;
}

/* FALSE: there is a lattice, and it cannot be used. */
static gboolean
read_lattice (const char *comment, const char *path, double cell[3], GError **error)
{
  const char *at = strstr (comment, "Lattice=\"");
  double m[9];
  if (at == NULL)
    return TRUE;
  at += strlen ("Lattice=\"");
  if (!take_numbers (&at, m, 9))
    return sb_fail (error, SB_ERROR_DATA, "%s: the Lattice in line 2 does not hold nine numbers; correct the file.", path);
  for (int i = 0; i < 9; i++)
    if (i % 4 == 0 ? !(m[i] > 0) : fabs (m[i]) > 1e-6 * (m[0] + m[4] + m[8]))
      return sb_fail (error, SB_ERROR_DATA, "%s: its Lattice is not orthogonal; give an orthogonal cell with the beam along z.",
                      path);
  cell[0] = m[0];
  cell[1] = m[4];
  cell[2] = m[8];
  return TRUE;
}

static gboolean
read_atom (const char *line, gint64 number, const char *path, SbAtom *atom, GError **error)
{
  char name[8];
  gsize n = 0;
  while (g_ascii_isspace (*line))
    line++;
  while (g_ascii_isalnum (line[n]) && n + 1 < sizeof name)
    n++;
  memcpy (name, line, n);
  name[n] = '\0';
  const char *at = line + n;
  atom->element = potential_find (name);
  if (atom->element == NULL || !g_ascii_isspace (*at) || !take_numbers (&at, atom->r, 3))
    return sb_fail (error, SB_ERROR_DATA, "%s: line %" G_GINT64_FORMAT " is no atom; write an element and its x, y, z in Å.",
                    path, number);
  return TRUE;
}

/* Without a cell: the middle of what is there is the origin. With one: only z counts from its middle. */
static void
centre (SbSpecimen *specimen)
{
  double low[3] = { INFINITY, INFINITY, INFINITY }, high[3] = { -INFINITY, -INFINITY, -INFINITY };
  GArray *atoms = specimen->atoms;
  for (guint i = 0; i < atoms->len; i++)
    for (int a = 0; a < 3; a++) {
      double x = g_array_index (atoms, SbAtom, i).r[a];
      low[a] = MIN (low[a], x);
      high[a] = MAX (high[a], x);
    }
  gboolean cell = specimen->cell[2] > 0;
  for (guint i = 0; i < atoms->len; i++)
    for (int a = cell ? 2 : 0; a < 3; a++)
      g_array_index (atoms, SbAtom, i).r[a] -= cell ? specimen->cell[2] / 2 : (low[a] + high[a]) / 2;
}

static gboolean
read_lines (char **lines, const char *path, SbSpecimen *specimen, GError **error)
{
  guint n_lines = g_strv_length (lines);
  char *end = NULL;
  gint64 n = n_lines > 0 ? g_ascii_strtoll (lines[0], &end, 10) : 0;
  if (n < 1 || end == lines[0])
    return sb_fail (error, SB_ERROR_DATA, "%s does not begin with a number of atoms; give an XYZ file.", path);
  if (n_lines < 2 || n > (gint64)n_lines - 2)
    return sb_fail (error, SB_ERROR_DATA, "%s announces %" G_GINT64_FORMAT " atoms, but ends before; copy it again.", path, n);
  if (!read_lattice (lines[1], path, specimen->cell, error))
    return FALSE;
  for (gint64 i = 0; i < n; i++) {
    SbAtom atom;
    if (!read_atom (lines[i + 2], i + 3, path, &atom, error))
      return FALSE;
    g_array_append_val (specimen->atoms, atom);
  }
  return TRUE;
}

SbSpecimen *
specimen_read_xyz (const char *path, GError **error)
{
  g_autoptr (SbSpecimen) specimen = specimen_new ();
  g_autoptr (GError) why = NULL;
  g_autofree char *text = NULL;
  struct stat status;
  if (stat (path, &status) != 0 || !S_ISREG (status.st_mode) || (double)status.st_size > LARGEST_FILE) {
    sb_fail (error, SB_ERROR_IO, "%s is no file of atoms that can be read; give an XYZ file.", path);
    return NULL;
  }
  if (!g_file_get_contents (path, &text, NULL, &why)) {
    sb_fail (error, SB_ERROR_IO, "%s cannot be read: check its permissions.", path);
    return NULL;
  }
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  if (!read_lines (lines, path, specimen, error))
    return NULL;
  centre (specimen);
  return g_steal_pointer (&specimen);
}
