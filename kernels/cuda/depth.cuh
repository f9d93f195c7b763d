/* exp (i pi x), and the depth factor sinc with its derivatives. */
#ifndef SBK_CUDA_DEPTH_CUH
#define SBK_CUDA_DEPTH_CUH

#include "kernels/cuda/cuda.h"

/* x less the nearest even number; the magic number rounds in the adder, the rounding unit is eight times slower. */
__device__ __forceinline__ float
reduce (float x)
{
  const float magic = 12582912.0f;
  float n = __fadd_rn (fmaf (x, 0.5f, magic), -magic);
  return fmaf (-2.0f, n, x);
}

/* exp (i pi x) */
__device__ __forceinline__ void
turn (float x, float &re, float &im)
{
  float f = reduce (x) * 3.14159265358979f;
  re = __cosf (f);
  im = __sinf (f);
}

__device__ __forceinline__ void
turn (double x, double &re, double &im)
{
  sincospi (x, &im, &re);
}

/* How the depth factor is computed: not at all, by polynomials (|x| <= 3/2, which holds for usual depths: u.v - v^2/2 lies
 * within +-1/2 wherever both apertures reach), or in closed form with a series near zero. */
enum { DEPTH_NONE, DEPTH_NEAR, DEPTH_FAR };
#define DEPTH_NEAR_LIMIT 1.5

/* Polynomial of u by falling powers. */
template <typename T, int N>
__device__ __forceinline__ T
polynomial (T u, const T (&c)[N])
{
  T p = c[0];
#pragma unroll
  for (int i = 1; i < N; i++)
    p = fma (p, u, c[i]);
  return p;
}

/* sin (pi x) / (pi x), its derivative over x, its second derivative, u = x^2: minimax to |x| = 3/2 (4e-9, 2e-9, 6e-10) in
 * float32, series for |x| <= 1/2 in float64. */
__device__ __forceinline__ float
sinc_near (float u)
{
  const float c[] = { -5.01712625e-06f, 0.000141632014f, -0.00233346828f, 0.0261347378f,
                      -0.190744382f,    0.811740343f,    -1.64493384f,    1.0f };
  return polynomial (u, c);
}

__device__ __forceinline__ float
first_near (float u)
{
  const float c[] = { 3.01790446e-06f, -9.40624611e-05f, 0.00177444824f, -0.0234538388f,
                      0.209178821f,    -1.14450984f,     3.24696958f,    -3.28986813f };
  return polynomial (u, c);
}

__device__ __forceinline__ float
second_near (float u)
{
  const float c[] = { -1.65958935e-06f, 5.84333257e-05f, -0.00126446227f, 0.0195858683f, -0.211142094f,
                      1.46427722f,      -5.72255423f,    9.74090906f,     -3.28986813f };
  return polynomial (u, c);
}

__device__ __forceinline__ double
sinc_near (double u)
{
  const double c[] = { 1.7165384749821432e-10,
                       -7.304711822217775e-09,
                       2.5312174041370274e-07,
                       -6.975873661656381e-06,
                       0.000148428793031071,
                       -0.0023460810354558235,
                       0.0261478478176548,
                       -0.19075182412208422,
                       0.8117424252833536,
                       -1.6449340668482264,
                       1.0 };
  return polynomial (u, c);
}

__device__ __forceinline__ double
first_near (double u)
{
  const double c[] = { -7.365893777096947e-11, 3.4330769499642866e-09, -1.3148481279991994e-07, 4.049947846619244e-06,
                       -9.766223126318933e-05, 0.001781145516372852,   -0.023460810354558236,   0.2091827825412384,
                       -1.1445109447325053,    3.2469697011334144,     -3.289868133696453 };
  return polynomial (u, c);
}

__device__ __forceinline__ double
second_near (double u)
{
  const double c[] = { -1.5468376931903588e-09, 6.522846204932145e-08, -2.235241817598639e-06, 6.074921769928866e-05,
                       -0.0012696090064214613,  0.019592600680101373,  -0.21114729319102413,   1.4642794777886687,
                       -5.722554723662526,      9.740909103400243,     -3.289868133696453 };
  return polynomial (u, c);
}

/* sinc to |x| = 3/2 in float64, its series to 8e-16: much cheaper than the closed form there. */
__device__ __forceinline__ double
sinc_series (double u)
{
  const double c[] = { -7.7421757058643412e-24, 9.3349122371730116e-22,  -9.9879052106350476e-20,
                       9.4114733158558486e-18,  -7.7430827233880315e-16, 5.5074589121509652e-14,
                       -3.3481335350440666e-12, 1.7165384749821432e-10,  -7.304711822217775e-09,
                       2.5312174041370274e-07,  -6.9758736616563807e-06, 0.000148428793031071,
                       -0.0023460810354558235,  0.0261478478176548,      -0.19075182412208422,
                       0.81174242528335361,     -1.6449340668482264,     1 };
  return polynomial (u, c);
}

__device__ __forceinline__ float
sinc_series (float u)
{
  return sinc_near (u);
}

/* exp (i pi x)'s sine for the closed form */
__device__ __forceinline__ float
sine (float x)
{
  return __sinf (reduce (x) * 3.14159265358979f);
}

__device__ __forceinline__ double
sine (double x)
{
  return sinpi (x);
}

template <int DEPTH, typename T>
__device__ __forceinline__ T
sinc (T x)
{
  T u = x * x;
  if (DEPTH == DEPTH_NEAR)
    return sinc_series (u);
  T far = sine (x) / (x * (T)3.14159265358979323846);
  return u < (T)0.25 ? sinc_near (u) : far;
}

/* sinc, first and second derivative; series where the closed forms cancel. */
template <int DEPTH, typename T>
__device__ __forceinline__ void
sinc_derivatives (T x, T &s0, T &s1, T &s2)
{
  const T pi2 = (T)9.869604401089358;
  T u = x * x, c, s;
  if (DEPTH == DEPTH_NEAR && sizeof (T) == sizeof (float)) {
    s0 = sinc_near (u);
    s1 = x * first_near (u);
    s2 = second_near (u);
    return;
  }
  bool near = u < (T)0.25;
  turn (x, c, s);
  T inverse = 1 / (near ? (T)1 : x);
  s0 = near ? sinc_near (u) : s * inverse * (T)0.3183098861837906715;
  T far1 = (c - s0) * inverse;
  s1 = near ? x * first_near (u) : far1;
  s2 = near ? second_near (u) : -pi2 * s0 - 2 * far1 * inverse;
}

#endif
