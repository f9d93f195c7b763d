#include "tests/physics/golden.h"

#include <math.h>

Golden *
golden_open (const char *name)
{
  const char *data = g_getenv ("SB_TEST_DATA");
  g_autofree char *path = g_strdup_printf ("%s/golden/%s.h5", data != NULL ? data : "tests/data", name);
  Golden *golden = g_new0 (Golden, 1);
  golden->file = H5Fopen (path, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (golden->file < 0)
    g_error ("cannot open %s", path);
  golden->lambda = golden_attribute (golden, "lambda", 0);
  golden->k_max = golden_attribute (golden, "kmax", 0);
  golden->edge_width = golden_attribute (golden, "edge_width", 0);
  return golden;
}

void
golden_close (Golden *golden)
{
  H5Fclose (golden->file);
  g_free (golden);
}

gboolean
golden_has (const Golden *golden, const char *name)
{
  return H5Lexists (golden->file, name, H5P_DEFAULT) > 0;
}

double *
golden_array (const Golden *golden, const char *name, gint64 *dims)
{
  hid_t set = H5Dopen2 (golden->file, name, H5P_DEFAULT);
  hid_t space = H5Dget_space (set);
  hsize_t size[4] = { 1, 1, 1, 1 };
  gsize n = 1;
  if (set < 0 || H5Sget_simple_extent_ndims (space) > 4 || H5Sget_simple_extent_dims (space, size, NULL) < 0)
    g_error ("no dataset %s", name);
  for (int i = 0; i < 4; i++) {
    n *= size[i];
    if (dims != NULL)
      dims[i] = (gint64)size[i];
  }
  double *values = g_new (double, n);
  if (H5Dread (set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
    g_error ("cannot read %s", name);
  H5Sclose (space);
  H5Dclose (set);
  return values;
}

double
golden_attribute (const Golden *golden, const char *name, int i)
{
  double values[64];
  hid_t attribute = H5Aopen (golden->file, name, H5P_DEFAULT);
  hid_t space = H5Aget_space (attribute);
  if (attribute < 0 || H5Sget_simple_extent_npoints (space) > 64 || H5Aread (attribute, H5T_NATIVE_DOUBLE, values) < 0)
    g_error ("no attribute %s", name);
  H5Sclose (space);
  H5Aclose (attribute);
  return values[i];
}

void
golden_coordinates (const Golden *golden, SbCoordinates *coordinates)
{
  g_autofree double *p = golden_array (golden, "p", NULL);
  for (int i = 0; i < SB_N_COORDINATES; i++)
    coordinates->x[i] = i == SB_DEPTH ? p[i] / 10 : i >= SB_TILT_ROW ? p[i] * 1e3 : p[i];
}

static int
by_row (gconstpointer a, gconstpointer b, gpointer data)
{
  const double (*lattice)[2] = data;
  gint64 i = *(const gint64 *)a, j = *(const gint64 *)b;
  for (int axis = 0; axis < 2; axis++)
    if (lattice[i][axis] != lattice[j][axis])
      return lattice[i][axis] < lattice[j][axis] ? -1 : 1;
  return 0;
}

static double
aperture2 (double x, double y, double width)
{
  double a = CLAMP ((1 - x * x - y * y) / (2 * width) + 0.5, 0, 1);
  return a * a;
}

GoldenPixels *
golden_pixels (const Golden *golden, double rotation)
{
  gint64 dims[4];
  g_autofree double *k = golden_array (golden, "k", dims);
  gint64 n = dims[0];
  double spacing = golden->edge_width / golden->k_max; /* the ramp is one detector pixel wide */
  SbFrame frame = { rotation, FALSE };
  g_autofree double (*lattice)[2] = g_malloc_n ((gsize)n, sizeof *lattice); /* whole detector pixels */
  GoldenPixels *out = g_new0 (GoldenPixels, 1);
  out->order = g_new (gint64, n);
  out->row_x = g_new (double, n);
  out->pixel_y = g_new (double, n);
  out->row_start = g_new (gint64, n + 1);
  for (gint64 i = 0; i < n; i++) {
    double detector[2];
    frame_to_detector (&frame, k + 2 * i, detector);
    for (int axis = 0; axis < 2; axis++) {
      double pixel = detector[axis] / golden->edge_width;
      lattice[i][axis] = rint (pixel);
      if (fabs (pixel - rint (pixel)) > 1e-9)
        g_error ("k is not the detector's lattice rotated by %g rad", rotation);
    }
    out->order[i] = i;
  }
  g_qsort_with_data (out->order, (gint)n, sizeof (gint64), by_row, lattice);

  gint64 rows = 0;
  for (gint64 i = 0; i < n; i++) {
    const double *at = lattice[out->order[i]];
    if (i == 0 || at[0] != lattice[out->order[i - 1]][0]) {
      out->row_x[rows] = at[0] * spacing;
      out->row_start[rows++] = i;
    }
    out->pixel_y[i] = at[1] * spacing;
    out->mean_a2 += aperture2 (at[0] * spacing, at[1] * spacing, spacing) / (double)n;
  }
  out->row_start[rows] = n;
  out->pixels = (SbkPixels){
    .n_pixels = n, .n_rows = rows, .row_start = out->row_start, .row_x = out->row_x, .pixel_y = out->pixel_y, .edge = spacing
  };
  return out;
}

void
golden_pixels_free (GoldenPixels *pixels)
{
  g_free (pixels->order);
  g_free (pixels->row_x);
  g_free (pixels->pixel_y);
  g_free (pixels->row_start);
  g_free (pixels);
}
