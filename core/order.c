#include "core/order.h"

#include <string.h>

double
order_select (double *x, gsize n, gsize k)
{
  gint64 low = 0, high = (gint64)n - 1, wanted = (gint64)k;
  while (low < high) {
    double pivot = x[low + (high - low) / 2];
    gint64 i = low, j = high;
    while (i <= j) {
      while (x[i] < pivot)
        i++;
      while (x[j] > pivot)
        j--;
      if (i <= j) {
        double swap = x[i];
        x[i++] = x[j];
        x[j--] = swap;
      }
    }
    if (wanted <= j)
      high = j;
    else if (wanted >= i)
      low = i;
    else
      break;
  }
  return x[wanted];
}

double
order_median (double *x, gsize n)
{
  double upper = order_select (x, n, n / 2);
  return n % 2 == 1 ? upper : 0.5 * (order_select (x, n, n / 2 - 1) + upper);
}

/* Bits of a float whose order as integers is that of the numbers. */
static guint32
float_key (float x)
{
  guint32 bits;
  memcpy (&bits, &x, sizeof bits);
  return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}

float
order_float (const float *x, gsize n, gsize k)
{
  enum { BITS = 11, BINS = 1 << BITS };
  guint32 prefix = 0, known = 0; /* the key's highest bits, as far as they are known */
  for (int shift = 32 - BITS;; shift = MAX (shift - BITS, 0)) {
    gsize count[BINS] = { 0 };
    guint32 bin = 0, next = known | (guint32)(BINS - 1) << shift;
    for (gsize i = 0; i < n; i++) {
      guint32 key = float_key (x[i]);
      if ((key & known) == prefix)
        count[key >> shift & (BINS - 1)]++;
    }
    for (; k >= count[bin]; bin++)
      k -= count[bin];
    prefix |= bin << shift;
    known = next;
    if (shift == 0)
      break;
  }
  guint32 bits = prefix >> 31 != 0 ? prefix & 0x7fffffffu : ~prefix;
  float found;
  memcpy (&found, &bits, sizeof found);
  return found;
}

guint
order_last (gconstpointer items, guint n, gsize size, gint64 number)
{
  guint low = 0, high = n;
  while (high - low > 1) {
    guint middle = (low + high) / 2;
    if (*(const gint64 *)(gconstpointer)((const char *)items + middle * size) <= number)
      low = middle;
    else
      high = middle;
  }
  return low;
}
