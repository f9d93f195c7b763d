/* Pictures: grey levels, sizes, scale bars of the right length, circles in the right place. */
#include <math.h>
#include <string.h>

#include "core/picture.h"

static guint32
pixel (const guint8 *rgb, gint64 cols, gint64 row, gint64 col)
{
  const guint8 *p = rgb + 3 * (row * cols + col);
  return (guint32)p[0] << 16 | (guint32)p[1] << 8 | p[2];
}

static int
ascending (const void *a, const void *b)
{
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static void
test_range (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (5);
  for (int round = 0; round < 300; round++) {
    gsize n = (gsize)g_rand_int_range (random, 1, 3000);
    g_autofree float *x = g_new (float, n), *sorted = NULL;
    int kind = round % 4; /* random, few values, sorted, constant */
    for (gsize i = 0; i < n; i++)
      x[i] = kind == 0   ? (float)g_rand_double (random)
             : kind == 1 ? (float)g_rand_int_range (random, 0, 3)
             : kind == 2 ? (float)i
                         : 5;
    sorted = g_memdup2 (x, n * sizeof (float));
    qsort (sorted, n, sizeof (float), ascending);
    double low, high;
    picture_range (x, n, &low, &high);
    g_assert_true (low == (double)sorted[(gsize)rint (0.001 * (double)(n - 1))]);
    g_assert_true (high == (double)sorted[(gsize)rint (0.999 * (double)(n - 1))]);
  }
  const float bad[4] = { NAN, INFINITY, 2, -INFINITY };
  double low, high;
  picture_range (bad, 4, &low, &high);
  g_assert_true (low == 2 && high == 2);
  picture_range (bad, 2, &low, &high);
  g_assert_true (low == 0 && high == 1);
}

static void
test_grey (void)
{
  const float x[6] = { 0, 1, 2, NAN, 4, 3 };
  g_autofree guint8 *rgb = picture_grey (x, 2, 3);
  const int expected[6] = { 0, 64, 128, 0, 255, 191 };
  for (int i = 0; i < 6; i++)
    for (int k = 0; k < 3; k++)
      g_assert_cmpint (rgb[3 * i + k], ==, expected[i]);
}

/* Length of the longest run of white in the strip below the image: the scale bar. */
static gint64
bar_length (const guint8 *rgb, gint64 image_rows, gint64 rows, gint64 cols)
{
  gint64 longest = 0;
  for (gint64 r = image_rows + 2; r < rows; r++)
    for (gint64 c = 0, run = 0; c < cols / 2; c++) {
      run = pixel (rgb, cols, r, c) == 0xffffff ? run + 1 : 0;
      longest = MAX (longest, run);
    }
  return longest;
}

static void
test_scale_bar (void)
{
  static const struct {
    gint64 rows, cols;
    double step_row, step_col;
    gint64 out_rows, out_cols; /* of the image alone */
    double pixel, length;      /* nm */
    int strip;
  } cases[] = {
    { 100, 100, 0.02, 0.02, 400, 400, 0.005, 0.5, 50 }, /* 120 pixels are 0.6 nm */
    { 50, 100, 0.04, 0.02, 400, 400, 0.005, 0.5, 50 },  /* square pixels on the picture */
    { 100, 50, 0.02, 0.04, 400, 400, 0.005, 0.5, 50 },  { 512, 512, 1, 1, 512, 512, 1, 100, 50 }, /* 153.6 nm */
    { 1300, 1300, 0.1, 0.1, 1300, 1300, 0.1, 20, 100 },                                           /* 39 nm; large letters */
    { 10, 2000, 0.1, 0.1, 20, 4000, 0.05, 50, 100 }, /* magnified no further than the longer side allows */
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    gint64 rows = 0, cols = 0;
    g_autofree float *x = g_new0 (float, cases[i].rows *cases[i].cols);
    g_autofree guint8 *rgb = picture_image (x, cases[i].rows, cases[i].cols, cases[i].step_row, cases[i].step_col, "rad", &rows,
                                            &cols);
    g_assert_cmpint (rows, ==, cases[i].out_rows + cases[i].strip);
    g_assert_cmpint (cols, ==, cases[i].out_cols);
    g_assert_cmpint (bar_length (rgb, cases[i].out_rows, rows, cols), ==, lrint (cases[i].length / cases[i].pixel));
  }
}

static void
test_image (void)
{
  float x[4] = { 0, 1, 1, 0 };
  gint64 rows, cols;
  g_autofree guint8 *rgb = picture_image (x, 2, 2, NAN, NAN, "", &rows, &cols);
  g_assert_cmpint (cols, ==, 400);
  g_assert_cmpint (rows, ==, 450);
  g_assert_cmpuint (pixel (rgb, cols, 0, 0), ==, 0x000000);
  g_assert_cmpuint (pixel (rgb, cols, 0, 399), ==, 0xffffff);
  g_assert_cmpuint (pixel (rgb, cols, 399, 0), ==, 0xffffff);
  g_assert_cmpint (labs ((long)(pixel (rgb, cols, 199, 199) & 0xff) - 127), <=, 2); /* between the four */
  g_assert_cmpint (bar_length (rgb, 400, rows, cols), <, 30);                       /* no step, no bar */
  /* degenerate images */
  static const gint64 shapes[][2] = { { 1, 1 }, { 1, 500 }, { 5000, 1 }, { 3, 1 } };
  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++) {
    g_autofree float *y = g_new (float, shapes[i][0] * shapes[i][1]);
    for (gint64 k = 0; k < shapes[i][0] * shapes[i][1]; k++)
      y[k] = k % 2 != 0 ? NAN : 1e30f;
    g_autofree guint8 *any = picture_image (y, shapes[i][0], shapes[i][1], 1e-6, 1e9, "rad", &rows, &cols);
    g_assert_nonnull (any);
    g_assert_cmpint (cols, >=, 400);
  }
}

typedef struct Calibrated {
  SbPattern pattern;
  SbCalibration calibration;
} Calibrated;

static void
make_calibrated (Calibrated *made, gint64 rows, gint64 cols)
{
  memset (made, 0, sizeof *made);
  made->pattern = (SbPattern){
    .rows = rows, .cols = cols, .mean = g_new0 (double, rows *cols), .bad = g_new0 (guint8, rows * cols)
  };
  made->calibration = (SbCalibration){ .centre = { 40, 50 }, .radius = 20, .sampling = 1, .curl_rotation = NAN };
  for (int i = 0; i < SB_ROTATION_STEPS; i++) {
    made->calibration.scan_angle[i] = 10 * i;
    for (int o = 0; o < 2; o++)
      made->calibration.scan_agreement[o][i] = o == 0 && i == 3 ? 0.2 : 0.1;
  }
  for (gint64 i = 0; i < rows * cols; i++)
    made->pattern.mean[i] = hypot ((double)(i / cols) - 40, (double)(i % cols) - 50) < 20 ? 3 : 0;
}

static void
free_calibrated (Calibrated *made)
{
  g_free (made->pattern.mean);
  g_free (made->pattern.bad);
}

/* Box of the pixels near a colour. */
typedef struct Found {
  gint64 n, top, bottom, left, right;
} Found;

static Found
find_colour (const guint8 *rgb, gint64 rows, gint64 cols, gint64 first_row, guint32 colour)
{
  Found found = { 0, rows, -1, cols, -1 };
  for (gint64 r = first_row; r < rows; r++)
    for (gint64 c = 0; c < cols; c++)
      if (pixel (rgb, cols, r, c) == colour) {
        found = (Found){ found.n + 1, MIN (found.top, r), MAX (found.bottom, r), MIN (found.left, c), MAX (found.right, c) };
      }
  return found;
}

/* The fitted circle, in the picture's own pixels: its size shows the radius, its middle the centre. */
static void
test_circle (void)
{
  enum { PANEL = 460, ORANGE = 0xe69f00, SKY = 0x56b4e9, BLUE = 0x0072b2, BAD = 0xcc3311, BELOW_LEGEND = 110 };
  Calibrated made;
  gint64 rows, cols;
  make_calibrated (&made, 100, 100);
  made.pattern.bad[0] = 1;
  g_autofree guint8 *rgb = picture_calibration (&made.pattern, &made.calibration, 20, &rows, &cols);
  Found circle = find_colour (rgb, rows, cols, BELOW_LEGEND, ORANGE), bad = find_colour (rgb, rows, cols, BELOW_LEGEND, BAD);
  double zoom = PANEL / 100.0;
  g_assert_cmpfloat (fabs ((double)(circle.right - circle.left) - 40 * zoom), <, 4);
  g_assert_cmpfloat (fabs ((double)(circle.bottom - circle.top) - 40 * zoom), <, 4);
  /* the bad pixel [0][0] is the panel's corner */
  g_assert_cmpint (bad.n, >, 10);
  g_assert_cmpfloat (fabs ((double)(circle.left + circle.right) / 2 - (double)bad.left - 50.5 * zoom), <, 2);
  g_assert_cmpfloat (fabs ((double)(circle.top + circle.bottom) / 2 - (double)bad.top - 40.5 * zoom), <, 2);
  g_assert_cmpint (find_colour (rgb, rows, cols, BELOW_LEGEND, SKY).n, ==, 0); /* the semi-angle is where it should be */
  g_assert_cmpint (find_colour (rgb, rows, cols, BELOW_LEGEND, BLUE).n, >, 100);
  g_autofree guint8 *other = picture_calibration (&made.pattern, &made.calibration, 15, &rows, &cols);
  Found dashed = find_colour (other, rows, cols, BELOW_LEGEND, SKY);
  g_assert_cmpfloat (fabs ((double)(dashed.right - dashed.left) - 30 * zoom), <, 8);
  free_calibrated (&made);
}

/* The highest point of the curve stands at its angle: 30 of 180 deg. */
static void
test_curve (void)
{
  Calibrated made;
  gint64 rows, cols, best_row = -1, best_col = -1;
  make_calibrated (&made, 100, 100);
  g_autofree guint8 *rgb = picture_calibration (&made.pattern, &made.calibration, 20, &rows, &cols);
  for (gint64 r = 117; r < rows && best_row < 0; r++)
    for (gint64 c = 689; c < cols; c++)
      if (pixel (rgb, cols, r, c) == 0x0072b2) {
        best_row = r;
        best_col = c;
        break;
      }
  g_assert_cmpfloat (fabs ((double)best_col - (690 + 460 * 30 / 180.0)), <, 6);
  free_calibrated (&made);
}

/* Nothing it is given makes it fail. */
static void
test_odd_calibrations (void)
{
  static const gint64 shapes[][2] = { { 1, 1 }, { 3, 900 }, { 600, 40 }, { 1024, 1024 } };
  static const double values[] = { NAN, INFINITY, -1, 0, 1e300, 30 };
  for (guint s = 0; s < G_N_ELEMENTS (shapes); s++)
    for (guint v = 0; v < G_N_ELEMENTS (values); v++) {
      Calibrated made;
      gint64 rows = 0, cols = 0;
      make_calibrated (&made, shapes[s][0], shapes[s][1]);
      made.calibration.frame.rotation = v % 2 != 0 ? 1 : values[v];
      made.calibration.radius = made.calibration.sampling = made.calibration.centre[0] = values[v];
      for (int i = 0; i < SB_ROTATION_STEPS; i++)
        made.calibration.scan_agreement[0][i] = made.calibration.scan_agreement[1][i] = values[v];
      made.pattern.mean[0] = values[v];
      g_autofree guint8 *rgb = picture_calibration (&made.pattern, &made.calibration, values[v], &rows, &cols);
      g_assert_nonnull (rgb);
      g_assert_cmpint (rows, >, 600);
      free_calibrated (&made);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/picture/range", test_range);
  g_test_add_func ("/picture/grey", test_grey);
  g_test_add_func ("/picture/scale_bar", test_scale_bar);
  g_test_add_func ("/picture/image", test_image);
  g_test_add_func ("/picture/circle", test_circle);
  g_test_add_func ("/picture/curve", test_curve);
  g_test_add_func ("/picture/odd_calibrations", test_odd_calibrations);
  return g_test_run ();
}
