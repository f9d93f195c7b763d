#include "core/fit/history.h"

SbHistory *
history_new (void)
{
  SbHistory *history = g_new0 (SbHistory, 1);
  history->evaluations = g_array_new (FALSE, FALSE, sizeof (SbEvaluation));
  return history;
}

void
history_free (SbHistory *history)
{
  if (history == NULL)
    return;
  g_array_unref (history->evaluations);
  g_free (history);
}

void
history_add (SbHistory *history, const char *stage, SbCall call, const SbAgreement *agreement, const SbCoordinates *at,
             double s)
{
  SbEvaluation evaluation = { stage, call, agreement->view, *at, s };
  if (history != NULL)
    g_array_append_val (history->evaluations, evaluation);
}
