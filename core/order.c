#include "core/order.h"

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
