/* From a file to the fitted aberrations and the phase image, with progress.
 *
 *   example_file ACQUISITION [PARAMETERS]      PARAMETERS: JSON, by default {"semiangle": 30} */
#include <stdio.h>
#include <string.h>

#include <sideband.h>

/* The smallest and the largest value of an image. */
static int
print_range (const sb_result *result, const char *name)
{
  sb_view view = { .struct_size = sizeof view };
  if (sb_result_array (&view, result, name) != SB_OK)
    return 1;
  const float *x = view.data;
  float low = x[0], high = x[0];
  for (int64_t i = 1; i < view.shape[0] * view.shape[1]; i++) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  printf ("%s: %lld x %lld, %.3f to %.3f\n", name, (long long)view.shape[0], (long long)view.shape[1], (double)low,
          (double)high);
  return !(high > low);
}

static int
run (sb_session *session, sb_data **data, sb_job **job, const char *path, const char *parameters)
{
  if (sb_data_open (data, session, path, NULL) != SB_OK || sb_job_new (job, session, "run", *data, parameters) != SB_OK
      || sb_job_start (*job) != SB_OK)
    return 1;
  int status;
  const char *stage;
  while ((status = sb_job_wait (*job, 100)) == SB_RUNNING) {
    double done = sb_job_progress (*job, &stage);
    fprintf (stderr, "%3.0f %% %s\n", 100 * done, stage);
  }
  if (status != SB_OK)
    return 1;
  puts (sb_result_info (sb_job_result (*job)));
  return print_range (sb_job_result (*job), "phase");
}

int
main (int argc, char **argv)
{
  sb_session *session = NULL;
  sb_data *data = NULL;
  sb_job *job = NULL;
  if (argc < 2 || sb_abi_version () != SB_ABI_VERSION) {
    fprintf (stderr, "usage: %s ACQUISITION [PARAMETERS]\n", argv[0]);
    return 2;
  }
  int failed = sb_session_new (&session, NULL) != SB_OK
               || run (session, &data, &job, argv[1], argc > 2 ? argv[2] : "{\"semiangle\": 30}");
  if (failed)
    fprintf (stderr, "%s\n", sb_error_message ());
  sb_job_free (job);
  sb_data_free (data);
  sb_session_free (session);
  return failed;
}
