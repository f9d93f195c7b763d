/* The talk of a series among ranks: rank 0 hands out the next acquisition to whoever asks; one rank computes it alone and
 * says what became of it; list, log, table and stack are rank 0's. A call is a letter of one size with a text behind it, and
 * the number of an acquisition answers it. */
#include <string.h>

#include "core/batch/together.h"
#include "core/error.h"

enum { PAUSE_US = 2000 };

/* ---- rank 0 ---- */

static void
take_report (SbBatch *batch, Talk *talk)
{
  const Call *call = &talk->call;
  const char *text = talk->text != NULL ? talk->text : "";
  SbBatchItem *item = batch->items->pdata[call->item];
  SbOutcome outcome = {
    .item = item, .done = call->done != 0, .fatal = call->fatal != 0, .seconds = call->seconds, .rank = talk->rank
  };
  item->kept = call->kept != 0;
  if (outcome.done && (item->info = json_loads (text, 0, NULL)) == NULL) {
    outcome.done = FALSE;
    sb_fail (&outcome.error, SB_ERROR_INTERNAL, "Rank %d did not say what it found; start the batch again.", talk->rank);
  } else if (!outcome.done)
    g_set_error_literal (&outcome.error, SB_ERROR, call->code, text);
  item_end (batch, &outcome);
  g_clear_error (&outcome.error);
}

static gboolean
answer_call (SbBatch *batch, Talk *talk, GError **error)
{
  if (talk->call.item >= 0 && talk->call.item < (gint32)batch->items->len)
    take_report (batch, talk);
  g_clear_pointer (&talk->text, g_free);
  g_mutex_lock (&batch->lock);
  const SbBatchItem *item = item_take (batch);
  g_mutex_unlock (&batch->lock);
  talk->resting += item == NULL;
  talk->answer = item != NULL ? (gint32)item->index : REST;
  talk->turn = ANSWER;
  return letter_send (batch->engine->ranks, &talk->letter, talk->rank, &talk->answer, sizeof talk->answer, error);
}

static gboolean
receive_text (SbBatch *batch, Talk *talk, GError **error)
{
  gsize bytes = (gsize)talk->call.text;
  talk->turn = TEXT;
  talk->text = sb_alloc (bytes + 1, 1, "What a rank found", error);
  if (talk->text == NULL)
    return FALSE;
  talk->text[bytes] = '\0';
  return letter_receive (batch->engine->ranks, &talk->letter, talk->rank, talk->text, bytes, error);
}

/* After a letter that has arrived. */
static gboolean
lead_on (SbBatch *batch, Talk *talk, GError **error)
{
  if (talk->turn == CALL && talk->call.text > 0)
    return receive_text (batch, talk, error);
  if (talk->turn == CALL || talk->turn == TEXT)
    return answer_call (batch, talk, error);
  talk->turn = talk->resting < batch_jobs (batch) ? CALL : RESTS;
  return talk->turn == RESTS
         || letter_receive (batch->engine->ranks, &talk->letter, talk->rank, &talk->call, sizeof talk->call, error);
}

static gboolean
talk_on (SbBatch *batch, Talk *talk, GError **error)
{
  gboolean arrived = TRUE;
  while (arrived && talk->turn != RESTS)
    if (!letter_look (batch->engine->ranks, &talk->letter, &arrived, error) || (arrived && !lead_on (batch, talk, error)))
      return FALSE;
  return TRUE;
}

gboolean
together_step (SbBatch *batch, GError **error)
{
  SbTogether *together = batch->together;
  for (guint i = 0; i < together->n && !together->left; i++)
    if (!talk_on (batch, &together->talk[i], error)) {
      together->left = TRUE;
      return FALSE;
    }
  return TRUE;
}

gboolean
together_over (const SbBatch *batch)
{
  const SbTogether *together = batch->together;
  for (guint i = 0; i < together->n && !together->left; i++)
    if (together->talk[i].turn != RESTS)
      return FALSE;
  return TRUE;
}

/* ---- the others ---- */

gboolean
together_wait (SbRanks *ranks, SbLetter *letter, GError **error)
{
  gboolean arrived = FALSE;
  while (letter_look (ranks, letter, &arrived, error) && !arrived)
    g_usleep (PAUSE_US);
  return arrived;
}

static void
write_call (Talk *talk, const SbOutcome *outcome)
{
  SbBatchItem *item = outcome->item;
  const GError *why = outcome->error;
  talk->call = (Call){ .item = NOTHING };
  g_clear_pointer (&talk->text, g_free);
  if (item == NULL)
    return;
  gint32 code = why != NULL && why->domain == SB_ERROR ? why->code : SB_ERROR_INTERNAL;
  talk->call = (Call){ (gint32)item->index, outcome->done, item->kept, outcome->fatal, code, 0, outcome->seconds, 0 };
  talk->text = outcome->done ? json_text (item->info, FALSE)
                             : g_strdup (why != NULL ? why->message : "It failed without saying why.");
  talk->call.text = talk->text != NULL ? strlen (talk->text) : 0;
  g_clear_pointer (&item->info, json_decref); /* it is rank 0's now */
}

static gboolean
call_up (SbRanks *ranks, Talk *talk, GError **error)
{
  return letter_send (ranks, &talk->letter, 0, &talk->call, sizeof talk->call, error)
         && together_wait (ranks, &talk->letter, error)
         && (talk->call.text == 0
             || (letter_send (ranks, &talk->letter, 0, talk->text, (gsize)talk->call.text, error)
                 && together_wait (ranks, &talk->letter, error)))
         && letter_receive (ranks, &talk->letter, 0, &talk->answer, sizeof talk->answer, error)
         && together_wait (ranks, &talk->letter, error);
}

/* What was cancelled here is not told as an outcome: the job ends, and with it everybody's. */
SbBatchItem *
together_next (SbBatch *batch, const SbOutcome *ended, GError **error)
{
  SbTogether *together = batch->together;
  Talk *talk = &together->talk[0];
  gint32 answer = REST;
  g_mutex_lock (&together->one_at_a_time);
  if (g_error_matches (ended->error, SB_ERROR, SB_ERROR_CANCELLED)) {
    together->left = TRUE;
    g_propagate_error (error, g_error_copy (ended->error));
  } else if (!together->left) {
    write_call (talk, ended);
    together->left = !call_up (batch->engine->ranks, talk, error);
    answer = together->left ? REST : talk->answer;
  }
  g_mutex_unlock (&together->one_at_a_time);
  return answer >= 0 && answer < (gint32)batch->items->len ? batch->items->pdata[answer] : NULL;
}
