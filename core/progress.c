#include "core/progress.h"

#include "core/error.h"

void
progress_stage (SbProgress *progress, const char *stage, double from, double to)
{
  if (progress == NULL)
    return;
  g_atomic_pointer_set (&progress->stage, stage);
  progress->from = from;
  progress->to = to;
  g_atomic_int_set (&progress->permyriad, (gint)(10000 * from));
}

gboolean
progress_step (SbProgress *progress, double fraction, GError **error)
{
  if (progress == NULL)
    return TRUE;
  double at = progress->from + (progress->to - progress->from) * CLAMP (fraction, 0.0, 1.0);
  g_atomic_int_set (&progress->permyriad, (gint)(10000 * at));
  if (progress_cancelled (progress))
    return sb_fail (error, SB_ERROR_CANCELLED, "Cancelled.");
  return TRUE;
}

void
progress_cancel (SbProgress *progress)
{
  g_atomic_int_set (&progress->cancel, 1);
}

gboolean
progress_cancelled (const SbProgress *progress)
{
  return progress != NULL && g_atomic_int_get (&progress->cancel) != 0;
}

const int *
progress_cancel_flag (const SbProgress *progress)
{
  return progress == NULL ? NULL : &progress->cancel;
}
