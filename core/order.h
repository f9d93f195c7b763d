/* Order statistics without sorting. */
#ifndef SB_CORE_ORDER_H
#define SB_CORE_ORDER_H

#include <glib.h>

/* The k-th smallest (from 0) of n > k numbers; reorders x. No NaN. */
double order_select (double *x, gsize n, gsize k);
/* Of n > 0 numbers, the mean of the middle two where n is even; reorders x. */
double order_median (double *x, gsize n);
/* The k-th smallest (from 0) of n > k numbers, which stay as they are: three looks at each. No NaN; -0 comes before 0. */
float order_float (const float *x, gsize n, gsize k);
/* Of n > 0 items `size` bytes apart, each beginning with a gint64 and in its ascending order: the last one whose number is
 * not beyond `number` (the first where all are). */
guint order_last (gconstpointer items, guint n, gsize size, gint64 number);

#endif
