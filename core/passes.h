/* Passes over G, wherever it is: at once where it is resident and alone, else in parts that one function adds up, chunk by
 * chunk (core/parts.h) and over the machines that share its pixels (SbEngine.reduce). The only callers of the kernels'
 * value, gradient, hessian, geometry, sums, aliases and power. */
#ifndef SB_CORE_PASSES_H
#define SB_CORE_PASSES_H

#include "core/spectrum.h"

/* values[c]: numerators of S of each candidate (see SbkBackend.value; so for the others). progress (or NULL): for cancel. */
gboolean passes_value (SbSpectrum *spectrum, const SbkView *view, int precise, gsize n, const SbkModel *models, double *values,
                       SbProgress *progress, GError **error);
gboolean passes_gradient (SbSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, double *value,
                          double gradient[SBK_N], SbProgress *progress, GError **error);
gboolean passes_hessian (SbSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, int n,
                         const int *chosen, double *value, double *gradient, double *hessian, SbProgress *progress,
                         GError **error);
gboolean passes_geometry (SbSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, double *value,
                          double derivative[2], SbProgress *progress, GError **error);
/* sum |G|^2 over a view. */
gboolean passes_power (SbSpectrum *spectrum, const SbkView *view, double *power, SbProgress *progress, GError **error);
/* out[fine->n * sbk_sum_width (kind)]. */
gboolean passes_sums (SbSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model, const SbkFine *fine,
                      SbkSumKind kind, double *out, SbProgress *progress, GError **error);
gboolean passes_aliases (SbSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model,
                         const SbkAliases *aliases, double *out, SbProgress *progress, GError **error);
gboolean passes_alias_gradient (SbSpectrum *spectrum, const SbkView *view, int precise, const SbkModel *model,
                                const SbkAliases *aliases, const double *x, double gradient[SBK_N], SbProgress *progress,
                                GError **error);
/* How many of n fine frequencies to ask for at once: `wanted`, or all where every call makes G anew. */
gint64 passes_sums_at_once (const SbSpectrum *spectrum, gint64 n, gint64 wanted);

#endif
