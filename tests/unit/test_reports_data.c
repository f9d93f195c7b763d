/* What users of other programs reported about calibrations and imperfect acquisitions, each with its own test. */
#include "core/descan.h"
#include "tests/physics/weak_object.h"
#include "tests/unit/edge.h"
#include "tests/unit/h5_files4.h"

static char *folder;

static const double STEPS[4] = { 0.4, 0.4, 3.0, 3.0 };

/* A thin object of which everything is known: a disk of 9 pixels, 30 mrad. */
static void
object_init (WeakObject *object)
{
  weak_object_init (object);
  object->scan[0] = 14;
  object->scan[1] = 17;
  object->detector[0] = 27;
  object->detector[1] = 29;
  object->radius = 9;
  object->centre[0] = 13.2;
  object->centre[1] = 14.1;
}

static char *
put_object (const WeakObject *object, const float *frames, const double steps[4], const char *scan, const char *detector)
{
  char *path = g_build_filename (folder, "object.h5", NULL);
  const gint64 shape[4] = { object->scan[0], object->scan[1], object->detector[0], object->detector[1] };
  write_emd (path, shape, frames, steps, scan, detector);
  return path;
}

static Options *
known_options (void)
{
  Options *o = options_new (30);
  o->optics.energy = 300;
  o->calibration.rotation = 0;
  set_text (&o->calibration.orientation, "identity");
  return o;
}

/* A command on a file; the acquisition options may be NULL. */
static SbResult *
run (const char *path, const SbAcquisitionOptions *options, Options *o, Command command, GError **error)
{
  SbEngine *engine = engine_of_two ();
  SbAcquisition *acquisition = acquisition_open (path, options, error);
  SbResult *result = NULL;
  if (acquisition != NULL) {
    SbWork *work = work_new (engine, acquisition);
    result = command (work, &o->pipeline, NULL, error);
    work_free (work);
  }
  acquisition_free (acquisition);
  engine_free (engine);
  return result;
}

/* py4DSTEM PR 410, 333, 338: the same angle in four units; a unit that nobody knows is an error. */
static void
test_units (void)
{
  WeakObject object;
  object_init (&object);
  g_autofree float *frames = weak_object_frames (&object, NULL);
  double lambda = optics_wavelength (300);
  const struct {
    const char *name;
    double scale;
  } units[] = { { "mrad", 1 }, { "rad", 1e-3 }, { "A^-1", 1e-3 / lambda }, { "1/nm", 1e-2 / lambda } };
  for (guint i = 0; i < G_N_ELEMENTS (units); i++)
    for (int wrong = 0; wrong < 2; wrong++) {
      double q = 30.0 / 9 * units[i].scale * (wrong ? 1.25 : 1);
      const double steps[4] = { 0.04, 0.04, q, q };
      GError *error = NULL;
      Options *o = known_options ();
      g_autofree char *path = put_object (&object, frames, steps, "nm", units[i].name);
      SbResult *result = run (path, NULL, o, pipeline_calibrate, &error);
      g_assert_no_error (error);
      near (item (result, "acquisition.step", 0), 0.4, 1e-9);
      /* arina-ptycho 2: a stored sampling that the disk contradicts */
      g_assert_true (warned (result, "but the acquisition says 4.167 mrad/pixel") == wrong);
      result_free (result);
      options_free (o);
    }
  g_autofree char *path = put_object (&object, frames, STEPS, "A", "furlong");
  GError *error = NULL;
  g_assert_null (acquisition_open (path, NULL, &error));
  assert_sentence (error, (const char *const[]){ "furlong", "not known", NULL });
  g_clear_error (&error);
}

/* py4DSTEM 715, abTEM 160: pixels that are not square. */
static void
test_rectangular_pixels (void)
{
  static const double steps[4] = { 0.4, 0.4, 3.0, 3.5 };
  WeakObject object;
  object_init (&object);
  g_autofree float *frames = weak_object_frames (&object, NULL);
  g_autofree char *path = put_object (&object, frames, steps, "A", "mrad");
  GError *error = NULL;
  g_assert_null (acquisition_open (path, NULL, &error));
  assert_sentence (error, (const char *const[]){ "3 mrad high and 3.5 mrad wide", "square", NULL });
  g_clear_error (&error);
}

/* py4DSTEM tutorials 25, ptyrad 17: one energy, and the step that was given; what contradicts the file is said. */
static void
test_energy_and_step (void)
{
  g_autofree char *path = data_path ("cases/ok_u16_master.h5");
  Options *o = options_new (30);
  o->optics.energy = 300;
  o->optics.step[0] = 0.51;
  o->optics.step[1] = 0.47;
  GError *error = NULL;
  SbResult *result = run (path, NULL, o, pipeline_info, &error);
  g_assert_no_error (error);
  g_assert_true (warned (result, "energy is given as 300 kV, but the acquisition says 80 kV"));
  near (number_of (result, "acquisition.energy"), 300, 0);
  near (item (result, "acquisition.step", 0), 0.51, 0);
  near (item (result, "acquisition.step", 1), 0.47, 0);
  result_free (result);
  options_free (o);
}

/* py4DSTEM 516, PR 539: frames without a count make no NaN; and the row before the beam was there is told. */
static void
test_empty_frames (void)
{
  WeakObject object;
  object_init (&object);
  gint64 size = object.detector[0] * object.detector[1];
  for (int row = 0; row < 2; row++) {
    g_autofree float *frames = weak_object_frames (&object, NULL);
    memset (frames + (row ? 0 : 40) * size, 0, (gsize)((row ? object.scan[1] : 1) * size) * sizeof *frames);
    g_autofree char *path = put_object (&object, frames, STEPS, "A", "mrad");
    Options *o = known_options ();
    GError *error = NULL;
    SbResult *result = run (path, NULL, o, pipeline_run, &error);
    g_assert_no_error (error);
    assert_finite (result);
    g_assert_true (
        warned (result, row ? "17 of 238 frames are empty; the first is frame 0" : "1 of 238 frames is empty: frame 40."));
    g_assert_true (warned (result, "The first scan row holds 0 % of the counts of the others: give scan_region 1,0,13,17")
                   == row);
    result_free (result);
    options_free (o);
  }
}

/* Disks of `pixels` radius that wander by slope pixels a scan row and column. */
static float *
wandering (const gint64 shape[4], double radius, const double by_row[2], const double by_col[2])
{
  gint64 size = shape[2] * shape[3];
  float *frames = g_new0 (float, shape[0] * shape[1] * size);
  for (gint64 f = 0; f < shape[0] * shape[1]; f++) {
    double row = (double)(f / shape[1]) - 0.5 * (double)(shape[0] - 1);
    double col = (double)(f % shape[1]) - 0.5 * (double)(shape[1] - 1), at[2];
    for (int i = 0; i < 2; i++)
      at[i] = 0.5 * (double)(shape[2 + i] - 1) + by_row[i] * row + by_col[i] * col;
    for (gint64 i = 0; i < size; i++)
      if (hypot ((double)(i / shape[3]) - at[0], (double)(i % shape[3]) - at[1]) <= radius)
        frames[f * size + i] = (float)(100 + (i + f) % 2);
  }
  return frames;
}

/* pyxem PR 746: the disk moves by 3 pixels either way; found, told, and taken out to less than 0.2. */
static void
test_descan (void)
{
  static const gint64 shape[4] = { 21, 31, 48, 50 };
  static const double by_row[2] = { 0.3, -0.02 }, by_col[2] = { 0.01, 0.2 }, nowhere[2] = { NAN, NAN };
  g_autofree float *frames = wandering (shape, 11, by_row, by_col);
  g_autofree char *path = g_build_filename (folder, "descan.h5", NULL);
  write_emd (path, shape, frames, STEPS, "A", "mrad");
  for (int remove = 0; remove < 2; remove++) {
    SbAcquisitionOptions options = { .descan = (char *)(remove ? "remove" : "report") };
    g_autoptr (GError) error = NULL;
    SbEngine *engine = engine_of_two ();
    SbAcquisition *a = acquisition_open (path, &options, &error);
    g_assert_no_error (error);
    SbColumns *columns = descan_load (engine, a, nowhere, NAN, NULL, &error);
    g_assert_no_error (error);
    SbPlane plane;
    SbDisk disk;
    double travel[2];
    g_assert_true (descan_fit (columns, &plane, travel));
    g_assert_true (disk_find (columns->pattern.mean, columns->pattern.bad, 48, 50, &disk, NULL));
    g_assert_true (descan_matters (columns, &plane, travel) == !remove);
    g_assert_true ((mend_plane (a) != NULL) == remove);
    if (remove) {
      const SbPlane *removed = mend_plane (a);
      for (int i = 0; i < 2; i++) {
        g_assert_cmpfloat (travel[i], <, 0.2);
        near (disk.centre[i], 0.5 * (double)(shape[2 + i] - 1), 0.2);
        near (removed->by_row[i], by_row[i], 0.01);
        near (removed->by_col[i], by_col[i], 0.01);
      }
      near (disk.radius, 11, 0.3);
    } else
      g_assert_cmpfloat (MAX (travel[0], travel[1]), >, 4);
    columns_free (columns);
    acquisition_free (a);
    engine_free (engine);
  }
}

/* A command says it, and a hot pixel does not wander along with the frames that are moved back. */
static void
test_descan_said (void)
{
  static const gint64 shape[4] = { 12, 12, 40, 40 };
  static const double by_row[2] = { 0.4, 0 }, by_col[2] = { 0, 0 };
  g_autofree float *frames = wandering (shape, 8, by_row, by_col);
  for (gint64 f = 0; f < 144; f++)
    frames[f * 1600 + 20 * 40 + 21] = 5000;
  g_autofree char *path = g_build_filename (folder, "hot.h5", NULL);
  write_emd (path, shape, frames, STEPS, "A", "mrad");
  for (int remove = 0; remove < 2; remove++) {
    SbAcquisitionOptions options = { .descan = (char *)(remove ? "remove" : NULL) };
    Options *o = options_new (30);
    GError *error = NULL;
    SbResult *result = run (path, &options, o, pipeline_info, &error);
    g_assert_no_error (error);
    g_assert_true (warned (result, "descan"));
    g_assert_true (warned (result, remove ? "which is removed" : "give descan remove"));
    near (number_of (result, "calibration.radius"), 8, remove ? 0.35 : 3);
    const SbArray *mean = result_find (result, "mean_pattern");
    g_assert_nonnull (mean);
    for (gint64 i = 0; i < array_size (mean); i++)
      g_assert_cmpfloat (mean->data[i], <, 200);
    result_free (result);
    options_free (o);
  }
  SbAcquisitionOptions pushed = { { 2, 2 }, { 0 }, { 8, 8 }, (char *)"u2", .descan = (char *)"remove" };
  GError *error = NULL;
  g_assert_null (acquisition_new (&pushed, &error));
  assert_sentence (error, (const char *const[]){ "descan", "file", NULL });
  g_clear_error (&error);
}

/* py4DSTEM 149, 740, 656, 719, 16: far off the centre, and cut by the detector's edge. */
static void
test_disk_off_centre (void)
{
  static const double centres[][2] = { { 10, 10 }, { 13, 30 }, { 4, 16 }, { 30.4, 12.2 } };
  for (guint k = 0; k < G_N_ELEMENTS (centres); k++) {
    WeakObject object;
    object_init (&object);
    object.detector[0] = 32;
    object.detector[1] = 40;
    object.centre[0] = centres[k][0];
    object.centre[1] = centres[k][1];
    g_autofree float *frames = weak_object_frames (&object, NULL);
    g_autofree char *path = put_object (&object, frames, STEPS, "A", "mrad");
    Options *o = known_options ();
    GError *error = NULL;
    SbResult *result = run (path, NULL, o, pipeline_calibrate, &error);
    g_assert_no_error (error);
    near (item (result, "calibration.centre", 0), centres[k][0], 0.3);
    near (item (result, "calibration.centre", 1), centres[k][1], 0.3);
    result_free (result);
    options_free (o);
  }
}

/* ptychography 65: a scan too coarse to hold what the aperture passes, a disk too small to tell pixels apart. */
static void
test_undersampled (void)
{
  WeakObject object;
  object_init (&object);
  g_autofree float *frames = weak_object_frames (&object, NULL);
  g_autofree char *path = put_object (&object, frames, STEPS, "A", "pixels");
  Options *o = known_options ();
  GError *error = NULL;
  o->optics.step[0] = o->optics.step[1] = 4;
  SbResult *result = run (path, NULL, o, pipeline_calibrate, &error);
  g_assert_no_error (error);
  g_assert_true (warned (result, "The scan measures only 0.2 % of the frequencies that the aperture passes"));
  g_assert_true (warned (result, "scan with a smaller step"));
  result_free (result);
  o->optics.semiangle = 8;
  o->calibration.sampling = 3;
  g_assert_null (run (path, NULL, o, pipeline_calibrate, &error));
  assert_sentence (error, (const char *const[]){ "radius of 2.67 detector pixels, at least 3", NULL });
  g_clear_error (&error);
  options_free (o);
}

/* py4DSTEM 644, ptyrad 27 and 29: pixels at the borders of chips that count otherwise leave nothing in the image. */
static void
test_chip_borders (void)
{
  WeakObject object;
  object_init (&object);
  const gint64 shape[4] = { object.scan[0], object.scan[1], object.detector[0], object.detector[1] };
  gint64 size = shape[2] * shape[3];
  g_autofree guint32 *mask = g_new0 (guint32, size);
  g_autofree float *frames = weak_object_frames (&object, NULL);
  g_autofree char *path = g_build_filename (folder, "cross_master.h5", NULL);
  SbResult *result[2];
  for (gint64 i = 0; i < size; i++)
    mask[i] = i / shape[3] / 2 == 6 || i % shape[3] / 2 == 7;
  for (int k = 0; k < 2; k++) {
    SbAcquisitionOptions options = { .scan_shape = { shape[0], shape[1] } };
    Options *o = known_options ();
    GError *error = NULL;
    o->optics.step[0] = o->optics.step[1] = 0.4;
    write_master (path, shape, frames, mask);
    result[k] = run (path, &options, o, pipeline_run, &error);
    g_assert_no_error (error);
    near (number_of (result[k], "acquisition.masked_pixels"), 2 * (27 + 29) - 4, 0);
    options_free (o);
    for (gint64 i = 0; i < shape[0] * shape[1] * size; i++)
      frames[i] *= mask[i % size] ? 1.5f : 1;
  }
  const SbArray *clean = result_find (result[0], "phase"), *crossed = result_find (result[1], "phase");
  gsize bytes = (gsize)array_size (clean) * sizeof (float);
  g_assert_cmpmem (clean->data, bytes, crossed->data, bytes);
  result_free (result[0]);
  result_free (result[1]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  folder = new_folder ();
  g_test_add_func ("/reports/35-36-units-of-the-detector", test_units);
  g_test_add_func ("/reports/37-rectangular-pixels", test_rectangular_pixels);
  g_test_add_func ("/reports/38-44-energy-and-step-as-given", test_energy_and_step);
  g_test_add_func ("/reports/39-disk-off-centre-or-cut", test_disk_off_centre);
  g_test_add_func ("/reports/40-empty-frames-and-dark-row", test_empty_frames);
  g_test_add_func ("/reports/41-undersampled-scan", test_undersampled);
  g_test_add_func ("/reports/42-chip-borders", test_chip_borders);
  g_test_add_func ("/reports/43-descan", test_descan);
  g_test_add_func ("/reports/43-descan-said-and-hot-pixels", test_descan_said);
  int failed = g_test_run ();
  drop_folder (folder);
  return failed;
}
