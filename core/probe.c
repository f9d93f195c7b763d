#include <complex.h>
#include <math.h>

#include "core/error.h"
#include "core/exports.h"
#include "kernels/cpu/fft.h"

enum { LEAST_SIDE = 128, MOST_SIDE = 2048 };
#define MARGIN 16 /* of the field, in units of 1 / k_max */

static const char *const choices[] = { "none", "abtem", "py4dstem", "ptyrad", "all", NULL };

static const SbParam rows[] = {
  { .name = "probe",
    .title = "Probe",
    .unit = "",
    .help = "Add the probe to the result: intensity and phase in real space, amplitude and phase in the aperture.",
    .type = SB_PARAM_BOOL,
    .offset = G_STRUCT_OFFSET (SbExportOptions, probe),
    .value = FALSE,
    .min = -INFINITY,
    .max = INFINITY,
    .show_min = -INFINITY,
    .show_max = INFINITY,
    .flags = SB_PARAM_ADVANCED },
  { .name = "chi",
    .title = "Aberration surface",
    .unit = "",
    .help = "Add the phase that the aberrations make over the aperture to the result.",
    .type = SB_PARAM_BOOL,
    .offset = G_STRUCT_OFFSET (SbExportOptions, chi),
    .value = FALSE,
    .min = -INFINITY,
    .max = INFINITY,
    .show_min = -INFINITY,
    .show_max = INFINITY,
    .flags = SB_PARAM_ADVANCED },
  { .name = "parameters_for",
    .title = "Parameter file for",
    .unit = "",
    .help = "Write the aberrations as a parameter file of another program.",
    .type = SB_PARAM_CHOICE,
    .offset = G_STRUCT_OFFSET (SbExportOptions, parameters_for),
    .value = NAN,
    .text = "none",
    .min = -INFINITY,
    .max = INFINITY,
    .show_min = -INFINITY,
    .show_max = INFINITY,
    .choices = choices,
    .flags = SB_PARAM_ADVANCED | SB_PARAM_NO_RECORD },
};
const SbParamGroup export_params = { "export", "Export", sizeof (SbExportOptions), rows, G_N_ELEMENTS (rows) };

void
probe_free (SbProbe *probe)
{
  if (probe == NULL)
    return;
  g_free (probe->amplitude);
  g_free (probe->phase);
  g_free (probe->intensity);
  g_free (probe->wave_phase);
  g_free (probe);
}

/* Radius of the probe by geometric optics, |grad chi| / (2 pi) at its largest over the aperture, in units of 1 / k_max. */
static double
geometric_radius (const SbCoordinates *at)
{
  enum { RINGS = 24, AZIMUTHS = 48 };
  const double h = 1e-4;
  double most = 0;
  for (int ring = 1; ring <= RINGS; ring++)
    for (int azimuth = 0; azimuth < AZIMUTHS; azimuth++) {
      double r = (double)ring / RINGS, phi = 2 * G_PI * azimuth / AZIMUTHS;
      double row = r * cos (phi), col = r * sin (phi);
      double by_row = (optics_chi (at, row + h, col) - optics_chi (at, row - h, col)) / (2 * h);
      double by_col = (optics_chi (at, row, col + h) - optics_chi (at, row, col - h)) / (2 * h);
      most = MAX (most, hypot (by_row, by_col) / (2 * G_PI));
    }
  return most;
}

static gboolean
probe_alloc (SbProbe *probe, GError **error)
{
  float **const fields[] = { &probe->amplitude, &probe->phase, &probe->intensity, &probe->wave_phase };
  for (guint i = 0; i < G_N_ELEMENTS (fields); i++)
    if ((*fields[i] = sb_alloc ((gsize)(probe->n * probe->n), sizeof (float), "The probe", error)) == NULL)
      return FALSE;
  return TRUE;
}

static void
fill_aperture (SbProbe *probe, const SbCoordinates *at, double edge, double per_pixel)
{
  gint64 n = probe->n;
  for (gint64 i = 0; i < n * n; i++) {
    double row = (double)(i / n - n / 2) * per_pixel, col = (double)(i % n - n / 2) * per_pixel;
    double a = CLAMP ((1 - row * row - col * col) / (2 * edge) + 0.5, 0.0, 1.0);
    probe->amplitude[i] = (float)a;
    probe->phase[i] = a > 0 ? (float)-optics_chi (at, row, col) : 0.0f;
  }
}

/* P at a frequency of the transform, i and j modulo n. */
static double complex
aperture_at (const SbProbe *probe, gint64 i, gint64 j)
{
  gint64 n = probe->n, at = ((i + n / 2) % n) * n + (j + n / 2) % n;
  double phase = (double)probe->phase[at];
  return (double)probe->amplitude[at] * (cos (phase) + I * sin (phase));
}

/* psi = sum_k P (k) exp (2 pi i k.r): its real part is the transform of P's even-conjugate part, its imaginary part that of
 * the odd one over i, and both of these are transforms to a real image. */
static gboolean
transform (const SbProbe *probe, int imaginary, double complex *half, double *out, GError **error)
{
  gint64 n = probe->n, width = n / 2 + 1;
  for (gint64 i = 0; i < n; i++)
    for (gint64 j = 0; j < width; j++) {
      double complex p = aperture_at (probe, i, j), mirrored = conj (aperture_at (probe, (n - i) % n, (n - j) % n));
      half[i * width + j] = imaginary ? (p - mirrored) / (2 * I) : (p + mirrored) / 2;
    }
  if (sbk_fft_c2r_2d (n, n, (double *)half, out) == 0)
    return TRUE;
  return sb_fail (error, SB_ERROR_MEMORY, "The transform of the probe did not fit into memory; close other programs.");
}

static gboolean
fill_wave (SbProbe *probe, GError **error)
{
  gint64 n = probe->n;
  double sum = 0;
  g_autofree double complex *half = sb_alloc ((gsize)(n * (n / 2 + 1)), sizeof *half, "The probe", error);
  g_autofree double *re = half != NULL ? sb_alloc ((gsize)(n * n), sizeof *re, "The probe", error) : NULL;
  g_autofree double *im = re != NULL ? sb_alloc ((gsize)(n * n), sizeof *im, "The probe", error) : NULL;
  if (im == NULL || !transform (probe, 0, half, re, error) || !transform (probe, 1, half, im, error))
    return FALSE;
  for (gint64 i = 0; i < n * n; i++)
    sum += re[i] * re[i] + im[i] * im[i];
  for (gint64 i = 0; i < n * n; i++) {
    gint64 from = ((i / n + n / 2) % n) * n + (i % n + n / 2) % n;
    probe->intensity[i] = (float)((re[from] * re[from] + im[from] * im[from]) / sum);
    probe->wave_phase[i] = (float)atan2 (im[from], re[from]);
  }
  return TRUE;
}

SbProbe *
probe_new (const SbOptics *optics, const SbCoordinates *at, double edge, GError **error)
{
  double k_max = optics_k_max (optics);
  double field = 2.2 * geometric_radius (at) + MARGIN; /* in units of 1 / k_max */
  g_autoptr (SbProbe) probe = g_new0 (SbProbe, 1);
  for (probe->n = LEAST_SIDE; probe->n < MOST_SIDE && (double)probe->n / 4 < field; probe->n *= 2)
    ;
  probe->cramped = (double)probe->n / 4 < field;
  probe->step = 1 / (4 * k_max); /* frequencies to 2 k_max: |psi|^2 has none beyond */
  probe->angle_step = 4 / (double)probe->n * optics->semiangle;
  if (!probe_alloc (probe, error))
    return NULL;
  fill_aperture (probe, at, edge, 4 / (double)probe->n);
  return fill_wave (probe, error) ? g_steal_pointer (&probe) : NULL;
}

float *
chi_surface (const SbCoordinates *at, GError **error)
{
  const gint64 n = SB_CHI_SIDE, half = n / 2;
  float *chi = sb_alloc ((gsize)(n * n), sizeof *chi, "The aberration surface", error);
  for (gint64 i = 0; chi != NULL && i < n * n; i++) {
    double row = (double)(i / n - half) / (double)half, col = (double)(i % n - half) / (double)half;
    chi[i] = row * row + col * col <= 1 ? (float)optics_chi (at, row, col) : 0.0f;
  }
  return chi;
}
