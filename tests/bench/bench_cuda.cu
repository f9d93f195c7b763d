/* The reference acquisition of the performance page on the device (made there, seeded): R, the time to read G once, then
 * every kernel as a multiple of R. Prints a table and JSON. bench_cuda [scan] [repeats] */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/cuda/cuda.h"

extern "C" const SbkBackend *sbk_module_backend (void);

static const double shells[] = { 0.08, 0.16, 0.25, 0.325, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
                                 1.1,  1.2,  1.3,  1.4,   1.5, 1.6, 1.7, 1.8, 1.9, 2.0 };

struct Frequency {
  int64_t index;
  double x, y, r, angle;
  int shell;
};

static bool
earlier (const Frequency &a, const Frequency &b)
{
  return a.shell != b.shell ? a.shell < b.shell : a.angle != b.angle ? a.angle < b.angle : a.index < b.index;
}

__device__ unsigned
hash (unsigned long long i)
{
  unsigned long long z = i * 0x9E3779B97F4A7C15ull + 0x1234567;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return (unsigned)(z >> 32);
}

__global__ void
make_counts (unsigned short *counts, long long n)
{
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll)
    counts[i] = 20 + hash ((unsigned long long)i) % 17;
}

__global__ void
read_once (const float4 *g, long long n, float *out)
{
  float4 s = make_float4 (0, 0, 0, 0);
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {
    float4 v = __ldcs (g + i);
    s.x += v.x;
    s.y += v.y;
    s.z += v.z;
    s.w += v.w;
  }
  if (s.x + s.y + s.z + s.w == 12345.678f)
    *out = s.x;
}

static double unit = 0; /* R in ms */
static bool first_row = true;
static FILE *json;

static void
row (const char *name, double ms, const char *bar)
{
  printf ("%-44s %9.3f ms %8.2f R   bar %s\n", name, ms, ms / unit, bar);
  fprintf (json, "%s\n  {\"what\": \"%s\", \"ms\": %.4f, \"R\": %.3f, \"bar\": \"%s\"}", first_row ? "" : ",", name, ms,
           ms / unit, bar);
  first_row = false;
}

/* Median wall time of a call that ends with the device idle. */
template <typename F>
static double
median_ms (int repeats, F call)
{
  std::vector<double> times;
  call ();
  for (int i = 0; i < repeats; i++) {
    struct timespec a, b;
    clock_gettime (CLOCK_MONOTONIC, &a);
    call ();
    clock_gettime (CLOCK_MONOTONIC, &b);
    times.push_back ((b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) * 1e-6);
  }
  std::sort (times.begin (), times.end ());
  return times[times.size () / 2];
}

static void
serial (void *pool, int64_t n, SbkTask task, void *data)
{
  (void)pool;
  for (int64_t i = 0; i < n; i++)
    task (i, 0, data);
}

static void
need (SbkStatus status, const SbkError &error)
{
  if (status == SBK_OK)
    return;
  printf ("failed: %s\n", error.message);
  exit (1);
}

int
main (int argc, char **argv)
{
  int scan = argc > 1 ? atoi (argv[1]) : 512, repeats = argc > 2 ? atoi (argv[2]) : 9;
  const SbkBackend *cuda = sbk_module_backend ();
  const double lambda = 0.0196875, k_max = 0.03 / lambda, step = 0.373, radius = 52.93;
  if (cuda->score () <= 0) {
    printf ("no usable GPU\n");
    return 0;
  }
  json = fopen (getenv ("BENCH_JSON") ? getenv ("BENCH_JSON") : "/dev/null", "w");
  fprintf (json, "[");
  /* pixels of a 192 x 192 detector */
  std::vector<int64_t> row_start (1, 0), column, index;
  std::vector<double> row_x, pixel_y, vx, vy;
  for (int r = -96; r < 96; r++) {
    size_t before = pixel_y.size ();
    for (int c = -96; c < 96; c++)
      if (r * r + c * c <= radius * radius) {
        column.push_back ((int64_t)pixel_y.size ());
        pixel_y.push_back (c / radius);
      }
    if (pixel_y.size () > before) {
      row_x.push_back (r / radius);
      row_start.push_back ((int64_t)pixel_y.size ());
    }
  }
  std::vector<Frequency> band;
  for (int i = 0; i < scan; i++)
    for (int j = 0; j < scan; j++) {
      int si = i < scan / 2 ? i : i - scan, sj = j < scan / 2 ? j : j - scan;
      Frequency f = { (int64_t)i * scan + j, si / (scan * step * k_max), sj / (scan * step * k_max), 0, 0, 0 };
      f.r = hypot (f.x, f.y);
      f.angle = atan2 (f.y, f.x);
      if ((si < 0 || (si == 0 && sj <= 0)) || f.r >= 2 || si == -scan / 2 || sj == -scan / 2)
        continue;
      while (f.r >= shells[f.shell])
        f.shell++;
      band.push_back (f);
    }
  std::sort (band.begin (), band.end (), earlier);
  for (const Frequency &f : band) {
    index.push_back (f.index);
    vx.push_back (f.x);
    vy.push_back (f.y);
  }
  int64_t nk = (int64_t)pixel_y.size (), nq = (int64_t)band.size (), positions = (int64_t)scan * scan;
  printf ("scan %d x %d, %lld bright-field pixels, %lld frequencies, G %.2f GB\n", scan, scan, (long long)nk, (long long)nq,
          nk * nq * 8e-9);

  SbkContext *context = NULL;
  SbkSpectrum *g = NULL;
  SbkError error = { "" };
  SbkOpen how = { { 1, serial, NULL }, 0, NULL };
  need (cuda->open (&context, &how, &error), error);
  SbkPixels pixels = { nk, (int64_t)row_x.size (), row_start.data (), row_x.data (), pixel_y.data (), 1 / radius };
  SbkBand frequencies = { scan, scan, nq, index.data () };
  unsigned short *counts = NULL;
  if (cudaMalloc (&counts, (size_t)(nk * positions) * 2) != cudaSuccess)
    return 1;
  make_counts<<<2048, 256>>> (counts, nk * positions);
  cudaDeviceSynchronize ();
  SbkCounts from = { SBK_U16, counts, column.data (), 0.01, 0 };

  /* R */
  need (cuda->spectrum_from_counts (context, &g, &pixels, &frequencies, &from, NULL, &error), error);
  need (cuda->spectrum_set_q (g, vx.data (), vy.data (), &error), error);
  float *sink = NULL;
  cudaMalloc (&sink, 4);
  long long words = (long long)nk * g->view.pitch / 2;
  unit = median_ms (repeats, [&] {
    read_once<<<132 * 16, 256>>> ((const float4 *)g->view.g, words, sink);
    cudaDeviceSynchronize ();
  });
  printf ("R = %.3f ms (%.2f TB/s)\n", unit, nk * nq * 8e-9 / unit);
  row ("read G once (R)", unit, "1");
  double made = median_ms (3, [&] {
    cuda->spectrum_free (g);
    need (cuda->spectrum_from_counts (context, &g, &pixels, &frequencies, &from, NULL, &error), error);
  });
  row ("counts on the device to G", made, "15");
  need (cuda->spectrum_set_q (g, vx.data (), vy.data (), &error), error);
  cudaFree (counts);

  SbkModel model;
  memset (&model, 0, sizeof model);
  for (int m = 3; m < SBK_N_MONOMIALS; m++)
    model.chi[m] = 0.3 * cos (m * 1.7);
  model.depth = 1.37;
  model.tilt[0] = 0.1;
  model.tilt[1] = -0.07;
  SbkModel thin = model;
  thin.depth = 0;
  SbkView all = { 0, nq, 1, 0, 0, 1 }, eighth = { 0, nq, 1, 0, 4, 8 };
  double value, gradient[SBK_N], hessian[SBK_N * SBK_N];
  row ("value of S, thin", median_ms (repeats, [&] { need (cuda->value (g, &all, 0, 1, &thin, &value, NULL, &error), error); }),
       "1.6");
  row ("value of S", median_ms (repeats, [&] { need (cuda->value (g, &all, 0, 1, &model, &value, NULL, &error), error); }),
       "1.6");
  row ("value of S, float64", median_ms (3, [&] { need (cuda->value (g, &all, 1, 1, &model, &value, NULL, &error), error); }),
       "-");
  row ("value and gradient, all",
       median_ms (repeats, [&] { need (cuda->gradient (g, &all, 0, &model, &value, gradient, NULL, &error), error); }), "4.5");
  row ("value and gradient, float64",
       median_ms (3, [&] { need (cuda->gradient (g, &all, 1, &model, &value, gradient, NULL, &error), error); }), "-");
  const int low[6] = { 3, 4, 5, SBK_TILT_X, SBK_TILT_Y, SBK_DEPTH };
  row ("value, gradient, Hessian, low order",
       median_ms (repeats,
                  [&] { need (cuda->hessian (g, &all, 0, &model, 6, low, &value, gradient, hessian, NULL, &error), error); }),
       "5");
  int most[28];
  for (int i = 0; i < 28; i++)
    most[i] = i + 3;
  row ("Hessian of all 28, every 8th pixel",
       median_ms (
           3, [&] { need (cuda->hessian (g, &eighth, 0, &model, 28, most, &value, gradient, hessian, NULL, &error), error); }),
       "-");
  int64_t coarse = 0;
  while (coarse < nq && band[(size_t)coarse].r < 0.16)
    coarse++;
  SbkView trials = { 0, (coarse + 15) / 16 * 16, 1, 0, 15, 31 };
  std::vector<SbkModel> models (200, thin);
  std::vector<double> values (200);
  for (int i = 0; i < 200; i++)
    models[(size_t)i].chi[3] += 0.05 * i;
  row ("200 trials, coarse band, every 31st pixel",
       median_ms (repeats,
                  [&] { need (cuda->value (g, &trials, 0, 200, models.data (), values.data (), NULL, &error), error); }),
       "5 with the march");
  for (int u = 1; u <= 3; u += 2) {
    std::vector<double> fx, fy;
    std::vector<int64_t> source;
    std::vector<uint8_t> conj;
    for (int a = 0; a < u * u; a++)
      for (int64_t q = 0; q < nq; q++) {
        double ax = vx[(size_t)q] + (a / u) / (step * k_max), ay = vy[(size_t)q] + (a % u) / (step * k_max);
        if (hypot (ax, ay) >= 2)
          continue;
        fx.push_back (ax);
        fy.push_back (ay);
        source.push_back (q);
        conj.push_back (0);
      }
    SbkFine fine = { (int64_t)fx.size (), fx.data (), fy.data (), source.data (), conj.data () };
    std::vector<double> out (fx.size () * 3);
    row (u == 1 ? "sums of phase, native" : "sums of phase, 3x",
         median_ms (3,
                    [&] { need (cuda->sums (g, &all, 0, &model, &fine, SBK_SUM_MATCHED, out.data (), NULL, &error), error); }),
         u == 1 ? "5" : "15");
  }
  size_t available = 0, total = 0;
  cudaMemGetInfo (&available, &total);
  printf ("device memory in use %.2f GB = %.2f G\n", (total - available) * 1e-9, (total - available) / (nk * nq * 8.0));
  fprintf (json, "\n]\n");
  fclose (json);
  return 0;
}
