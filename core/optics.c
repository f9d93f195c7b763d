#include "core/optics.h"

#include <math.h>
#include <string.h>

#define RANGE_C10 40.0 /* nm */
#define RANGE_C12 10.0

const SbTerm optics_terms[SB_N_TERMS] = {
  { "C10", NULL, "defocus (C10 = -defocus)", 1, 0, RANGE_C10 },
  { "C12", "phi12", "twofold astigmatism", 1, 2, RANGE_C12 },
  { "C21", "phi21", "axial coma", 2, 1, 0 },
  { "C23", "phi23", "threefold astigmatism", 2, 3, 0 },
  { "C30", NULL, "spherical aberration (Cs)", 3, 0, 0 },
  { "C32", "phi32", "axial star", 3, 2, 0 },
  { "C34", "phi34", "fourfold astigmatism", 3, 4, 0 },
  { "C41", "phi41", "fourth-order axial coma", 4, 1, 0 },
  { "C43", "phi43", "three-lobe aberration", 4, 3, 0 },
  { "C45", "phi45", "fivefold astigmatism", 4, 5, 0 },
  { "C50", NULL, "fifth-order spherical aberration", 5, 0, 0 },
  { "C52", "phi52", "fifth-order axial star", 5, 2, 0 },
  { "C54", "phi54", "rosette", 5, 4, 0 },
  { "C56", "phi56", "sixfold astigmatism", 5, 6, 0 },
};

static const SbParam rows[] = {
  { "energy", "Electron energy", "kV", "Accelerating voltage; taken from the file where it says so.", SB_PARAM_DOUBLE,
    G_STRUCT_OFFSET (SbOpticsOptions, energy), NAN, NULL, 1, 3000, 30, 300, NULL, NULL, SB_PARAM_ASKED },
  { "semiangle", "Convergence semi-angle", "mrad", "Half opening angle of the probe-forming aperture.", SB_PARAM_DOUBLE,
    G_STRUCT_OFFSET (SbOpticsOptions, semiangle), NAN, NULL, 0.1, 300, 5, 50, NULL, NULL, SB_PARAM_ASKED },
  { "step", "Scan step", "Å", "Distance of neighbouring scan points, one number or row,col.", SB_PARAM_PAIR,
    G_STRUCT_OFFSET (SbOpticsOptions, step), NAN, NULL, 1e-3, 1e4, 0.05, 5, NULL, NULL, SB_PARAM_ASKED },
};
const SbParamGroup optics_params = { "optics", "Optics", sizeof (SbOpticsOptions), rows, G_N_ELEMENTS (rows) };

static const char *const names[SB_N_COORDINATES] = {
  "C10",  "C12a", "C12b", "C21a", "C21b", "C23a", "C23b", "C30",  "C32a", "C32b", "C34a", "C34b",     "C41a",     "C41b",
  "C43a", "C43b", "C45a", "C45b", "C50",  "C52a", "C52b", "C54a", "C54b", "C56a", "C56b", "tilt_row", "tilt_col", "depth",
};

const char *
coordinate_name (int index)
{
  return names[index];
}

int
coordinate_index (const char *name)
{
  for (int i = 0; i < SB_N_COORDINATES; i++)
    if (strcmp (names[i], name) == 0)
      return i;
  return -1;
}

/* First coordinate of a term. */
static int
term_coordinate (int term)
{
  int at = 0;
  for (int t = 0; t < term; t++)
    at += optics_terms[t].m > 0 ? 2 : 1;
  return at;
}

int
coordinate_order (int index)
{
  for (int t = SB_N_TERMS - 1; t >= 0 && index < SB_N_CHI; t--)
    if (index >= term_coordinate (t))
      return optics_terms[t].n;
  return 0;
}

double
optics_wavelength (double energy_kv)
{
  const double h = 6.62607015e-34, m = 9.1093837015e-31, e = 1.602176634e-19, c = 299792458.0;
  double volt = energy_kv * 1e3;
  return h / sqrt (2 * m * e * volt * (1 + e * volt / (2 * m * c * c))) * 1e10;
}

double
optics_k_max (const SbOptics *optics)
{
  return optics->semiangle * 1e-3 / optics_wavelength (optics->energy);
}

double
optics_edge_per_nm (const SbOptics *optics, int n)
{
  return 2 * G_PI / optics_wavelength (optics->energy) * pow (optics->semiangle * 1e-3, n + 1) / (n + 1) * 10.0;
}

void
frame_to_detector_all (const SbFrame *frame, gsize n, const double *scan, double *detector_row, double *detector_col)
{
  double c = cos (frame->rotation), s = sin (frame->rotation);
  for (gsize i = 0; i < n; i++) {
    double row = c * scan[2 * i] + s * scan[2 * i + 1], col = -s * scan[2 * i] + c * scan[2 * i + 1];
    detector_row[i] = frame->transpose ? col : row;
    detector_col[i] = frame->transpose ? row : col;
  }
}

void
frame_to_detector (const SbFrame *frame, const double scan[2], double detector[2])
{
  frame_to_detector_all (frame, 1, scan, &detector[0], &detector[1]);
}

/* Monomials of |z|^(n+1-m) Re z^m and Im z^m, z = x + i y. */
static void
term_monomials (int n, int m, double re[SBK_N_MONOMIALS], double im[SBK_N_MONOMIALS])
{
  /* Powers of y in z^m: z^m = sum_j binomial (m, j) x^(m-j) (i y)^j. */
  double binomial = 1, turn_re = 1, turn_im = 0;
  int p = (n + 1 - m) / 2;
  memset (re, 0, SBK_N_MONOMIALS * sizeof *re);
  memset (im, 0, SBK_N_MONOMIALS * sizeof *im);
  for (int j = 0; j <= m; j++) {
    double radial = 1; /* binomial (p, l) of (x^2 + y^2)^p */
    for (int l = 0; l <= p; l++) {
      int at = sbk_monomial (m - j + 2 * (p - l), j + 2 * l);
      re[at] += binomial * turn_re * radial;
      im[at] += binomial * turn_im * radial;
      radial = radial * (p - l) / (l + 1);
    }
    binomial = binomial * (m - j) / (j + 1);
    double was = turn_re;
    turn_re = -turn_im;
    turn_im = was;
  }
}

/* C = Ca + i Cb of the scan frame in the detector frame: chi = |z|^(n+1-m) Re (conj (C) z^m) with z_scan = e^(i theta) z,
 * or e^(i theta) i conj (z) where the detector is transposed. */
static void
term_to_detector (const SbFrame *frame, int m, double *re, double *im)
{
  double a = *re, b = *im;
  double c = cos (m * frame->rotation), s = sin (m * frame->rotation);
  if (!frame->transpose) {
    *re = a * c + b * s;
    *im = b * c - a * s;
    return;
  }
  double tr = a * c + b * s, ti = a * s - b * c; /* conj (C) e^(i m theta) */
  for (int turn = 0; turn < m % 4; turn++) {
    double was = tr;
    tr = -ti;
    ti = was;
  }
  *re = tr;
  *im = ti;
}

void
optics_model (const SbOptics *optics, const SbFrame *frame, const SbCoordinates *coordinates, SbkModel *model)
{
  const double *x = coordinates->x;
  double wavelength = optics_wavelength (optics->energy), alpha = optics->semiangle * 1e-3;
  memset (model, 0, sizeof *model);
  for (int t = 0, at = 0; t < SB_N_TERMS; t++) {
    int m = optics_terms[t].m;
    double re = x[at], im = m > 0 ? x[at + 1] : 0;
    double basis_re[SBK_N_MONOMIALS], basis_im[SBK_N_MONOMIALS];
    term_to_detector (frame, m, &re, &im);
    term_monomials (optics_terms[t].n, m, basis_re, basis_im);
    for (int i = 0; i < SBK_N_MONOMIALS; i++)
      model->chi[i] += (re * basis_re[i] + im * basis_im[i]) / (2 * G_PI);
    at += m > 0 ? 2 : 1;
  }
  double tilt[2] = { x[SB_TILT_ROW] / optics->semiangle, x[SB_TILT_COL] / optics->semiangle };
  frame_to_detector (frame, tilt, model->tilt);
  model->depth = x[SB_DEPTH] * 10.0 * alpha * alpha / wavelength;
}

void
optics_jacobian (const SbOptics *optics, const SbFrame *frame, double *jacobian)
{
  for (int i = 0; i < SB_N_COORDINATES; i++) {
    SbCoordinates unit = { { 0 } };
    SbkModel model;
    unit.x[i] = 1;
    optics_model (optics, frame, &unit, &model);
    for (int k = 0; k < SBK_N_MONOMIALS; k++)
      jacobian[k * SB_N_COORDINATES + i] = model.chi[k];
    jacobian[SBK_TILT_X * SB_N_COORDINATES + i] = model.tilt[0];
    jacobian[SBK_TILT_Y * SB_N_COORDINATES + i] = model.tilt[1];
    jacobian[SBK_DEPTH * SB_N_COORDINATES + i] = model.depth;
  }
}

void
optics_gradient (const SbOptics *optics, const SbFrame *frame, const double kernel[SBK_N], double gradient[SB_N_COORDINATES])
{
  double jacobian[SBK_N * SB_N_COORDINATES];
  optics_jacobian (optics, frame, jacobian);
  for (int i = 0; i < SB_N_COORDINATES; i++) {
    gradient[i] = 0;
    for (int k = 0; k < SBK_N; k++)
      gradient[i] += jacobian[k * SB_N_COORDINATES + i] * kernel[k];
  }
}

double
optics_chi (const SbCoordinates *coordinates, double k_row, double k_col)
{
  double r = hypot (k_row, k_col), phi = atan2 (k_col, k_row), chi = 0;
  for (int t = 0, at = 0; t < SB_N_TERMS; t++) {
    int m = optics_terms[t].m;
    double c = coordinates->x[at] * cos (m * phi) + (m > 0 ? coordinates->x[at + 1] * sin (m * phi) : 0);
    chi += pow (r, optics_terms[t].n + 1) * c;
    at += m > 0 ? 2 : 1;
  }
  return chi;
}

void
optics_polar (const SbOptics *optics, const SbCoordinates *coordinates, int term, double *c_nm, double *phi)
{
  const SbTerm *t = &optics_terms[term];
  int at = term_coordinate (term);
  double per_nm = optics_edge_per_nm (optics, t->n);
  if (t->m == 0) {
    *c_nm = coordinates->x[at] / per_nm;
    *phi = 0;
    return;
  }
  *c_nm = hypot (coordinates->x[at], coordinates->x[at + 1]) / per_nm;
  *phi = atan2 (coordinates->x[at + 1], coordinates->x[at]) / t->m;
}

void
optics_from_polar (const SbOptics *optics, int term, double c_nm, double phi, SbCoordinates *coordinates)
{
  const SbTerm *t = &optics_terms[term];
  int at = term_coordinate (term);
  double edge = c_nm * optics_edge_per_nm (optics, t->n);
  coordinates->x[at] = edge * cos (t->m * phi);
  if (t->m > 0)
    coordinates->x[at + 1] = edge * sin (t->m * phi);
}

void
coordinates_twin (const SbCoordinates *in, SbCoordinates *out)
{
  for (int i = 0; i < SB_N_CHI; i++)
    out->x[i] = coordinate_order (i) % 2 == 1 ? -in->x[i] : in->x[i];
  out->x[SB_TILT_ROW] = -in->x[SB_TILT_ROW];
  out->x[SB_TILT_COL] = -in->x[SB_TILT_COL];
  out->x[SB_DEPTH] = in->x[SB_DEPTH];
}
