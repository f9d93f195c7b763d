#include "plugin/view.h"

#include <string.h>

#include "core/error.h"

G_STATIC_ASSERT ((int)SB_DTYPE_U8 == (int)SB_U8 && (int)SB_DTYPE_U16 == (int)SB_U16 && (int)SB_DTYPE_U32 == (int)SB_U32);
G_STATIC_ASSERT ((int)SB_DTYPE_I16 == (int)SB_I16 && (int)SB_DTYPE_I32 == (int)SB_I32);
G_STATIC_ASSERT ((int)SB_DTYPE_F32 == (int)SB_F32 && (int)SB_DTYPE_F64 == (int)SB_F64);

enum { MOST_DIMS = 4 };

/* "[2, 72, 72]" */
static char *
shape_text (int n_dims, const gint64 *shape)
{
  GString *text = g_string_new ("[");
  for (int i = 0; i < n_dims; i++)
    g_string_append_printf (text, "%s%" G_GINT64_FORMAT, i > 0 ? ", " : "", shape[i]);
  g_string_append_c (text, ']');
  return g_string_free (text, FALSE);
}

static gboolean
check_fields (const sb_view *view, const char *what, GError **error)
{
  if (view == NULL)
    return sb_fail (error, SB_ERROR_ARGUMENT, "The view of %s is NULL; give an sb_view.", what);
  if (view->struct_size < sizeof (sb_view))
    return sb_fail (error, SB_ERROR_ARGUMENT, "The view of %s has struct_size %zu; set it to sizeof (sb_view), %zu.", what,
                    view->struct_size, sizeof (sb_view));
  if (view->n_dims < 1 || view->n_dims > MOST_DIMS)
    return sb_fail (error, SB_ERROR_ARGUMENT, "The view of %s has n_dims %d; it must be between 1 and %d.", what, view->n_dims,
                    MOST_DIMS);
  if (view->dtype < SB_DTYPE_U8 || view->dtype > SB_DTYPE_F64)
    return sb_fail (error, SB_ERROR_ARGUMENT, "The view of %s has dtype %d, which is none of sb_dtype.", what, view->dtype);
  if (view->data == NULL)
    return sb_fail (error, SB_ERROR_ARGUMENT, "The view of %s has no data; set it to the first element.", what);
  return TRUE;
}

static gboolean
check_shape (const sb_view *view, const char *what, int n_dims, const gint64 *shape, GError **error)
{
  int lacking = n_dims - view->n_dims;
  gboolean fits = lacking >= 0;
  for (int i = 0; fits && i < n_dims; i++)
    fits = i < lacking ? shape[i] == 1 : view->shape[i - lacking] == shape[i];
  if (fits)
    return TRUE;
  g_autofree char *is = shape_text (view->n_dims, view->shape);
  g_autofree char *wanted = shape_text (n_dims, shape);
  return sb_fail (error, SB_ERROR_ARGUMENT, "The view of %s has the shape %s; it must be %s.", what, is, wanted);
}

static gboolean
contiguous_strides (SbDtype dtype, int n_dims, const gint64 *shape, gint64 *strides)
{
  gint64 stride = (gint64)dtype_size (dtype);
  for (int i = n_dims - 1; i >= 0; i--) {
    strides[i] = stride;
    if (shape[i] <= 0 || stride > G_MAXINT64 / shape[i])
      return FALSE;
    stride *= shape[i];
  }
  return TRUE;
}

gboolean
view_check (const sb_view *view, const char *what, int n_dims, const gint64 *shape, gint64 *strides, GError **error)
{
  if (!check_fields (view, what, error) || !check_shape (view, what, n_dims, shape, error))
    return FALSE;
  if (!contiguous_strides ((SbDtype)view->dtype, n_dims, shape, strides))
    return sb_fail (error, SB_ERROR_ARGUMENT, "The view of %s is empty or larger than memory can be.", what);
  gboolean given = FALSE;
  for (int i = 0; i < view->n_dims; i++)
    given |= view->strides[i] != 0;
  for (int i = 0; given && i < view->n_dims; i++)
    strides[n_dims - view->n_dims + i] = view->strides[i];
  return TRUE;
}

gboolean
view_check_plain (const sb_view *view, const char *what, SbDtype dtype, int n_dims, const gint64 *shape, GError **error)
{
  gint64 strides[MOST_DIMS], plain[MOST_DIMS];
  if (!view_check (view, what, n_dims, shape, strides, error))
    return FALSE;
  if (view->dtype != (int)dtype)
    return sb_fail (error, SB_ERROR_ARGUMENT, "The view of %s has dtype %s; it must be %s.", what,
                    dtype_name ((SbDtype)view->dtype), dtype_name (dtype));
  contiguous_strides (dtype, n_dims, shape, plain);
  for (int i = 0; i < n_dims; i++)
    if (shape[i] > 1 && strides[i] != plain[i])
      return sb_fail (error, SB_ERROR_ARGUMENT, "The view of %s must be C-contiguous; leave its strides at 0.", what);
  return TRUE;
}

gboolean
view_write (const sb_view *view, const char *what, const float *image, gint64 rows, gint64 cols, GError **error)
{
  gint64 shape[2] = { rows, cols }, strides[2];
  if (!view_check (view, what, 2, shape, strides, error))
    return FALSE;
  if (view->dtype != SB_DTYPE_F32)
    return sb_fail (error, SB_ERROR_ARGUMENT, "The view of %s has dtype %s; it must be float32.", what,
                    dtype_name ((SbDtype)view->dtype));
  for (gint64 r = 0; r < rows; r++)
    for (gint64 c = 0; c < cols; c++)
      memcpy ((char *)view->data + r * strides[0] + c * strides[1], &image[r * cols + c], sizeof (float));
  return TRUE;
}
