/* What other programs want of a fit: the probe, the aberration surface, and parameter files. Only on request. */
#ifndef SB_CORE_EXPORTS_H
#define SB_CORE_EXPORTS_H

#include "core/optics.h"

typedef struct SbExportOptions {
  gboolean probe;
  gboolean chi;
  char *parameters_for; /* none | abtem | py4dstem | ptyrad | all */
} SbExportOptions;
extern const SbParamGroup export_params;

/* The probe P (k) = A (k) exp (-i chi (k)), zero frequency and r = 0 at [n / 2][n / 2]. */
typedef struct SbProbe {
  gint64 n;                      /* [n][n] */
  double step;                   /* angstrom in real space */
  double angle_step;             /* mrad in reciprocal space */
  gboolean cramped;              /* it is wider than the largest field: what leaves at one side enters at the other */
  float *amplitude, *phase;      /* A, -chi in rad (0 outside) */
  float *intensity, *wave_phase; /* |psi|^2, summing to 1; arg psi in rad */
} SbProbe;
/* edge: width of the aperture's ramp in units of k_max. */
SbProbe *probe_new (const SbOptics *optics, const SbCoordinates *at, double edge, GError **error);
void probe_free (SbProbe *probe);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SbProbe, probe_free)

/* chi in rad over the aperture [n][n] from -semiangle to +semiangle, 0 outside of it. */
enum { SB_CHI_SIDE = 257 };
float *chi_surface (const SbCoordinates *at, GError **error);

#endif
