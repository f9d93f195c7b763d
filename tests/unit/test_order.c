/* Order statistics against sorting, and the item that a number falls into. */
#include <stdlib.h>

#include "core/order.h"

static int
ascending (const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void
test_statistics (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (3);
  for (gsize n = 1; n < 60; n++) {
    double x[60], sorted[60], again[60];
    for (gsize i = 0; i < n; i++)
      x[i] = sorted[i] = again[i] = g_rand_int_range (random, 0, 20); /* many equal ones */
    qsort (sorted, n, sizeof *sorted, ascending);
    g_assert_cmpfloat (order_median (x, n), ==, (sorted[(n - 1) / 2] + sorted[n / 2]) / 2);
    gsize k = (gsize)g_rand_int_range (random, 0, (gint)n);
    g_assert_cmpfloat (order_select (again, n, k), ==, sorted[k]);
  }
}

static void
test_last (void)
{
  const struct {
    gint64 first;
    const char *what;
  } items[] = { { 0, "a" }, { 10, "b" }, { 11, "c" }, { 40, "d" } };
  for (guint n = 1; n <= G_N_ELEMENTS (items); n++)
    for (gint64 at = -3; at < 50; at++) {
      guint want = 0;
      for (guint i = 0; i < n; i++)
        want = items[i].first <= at ? i : want;
      g_assert_cmpuint (order_last (items, n, sizeof items[0], at), ==, want);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/order/statistics", test_statistics);
  g_test_add_func ("/order/last", test_last);
  return g_test_run ();
}
