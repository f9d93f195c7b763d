/* A series among the processes that a launcher started together: rank 0 tells the others what there is to do. */
#include "core/batch/together.h"

#include <string.h>

#include "core/error.h"

enum { LOOK_MS = 50, FOLDER_MS = 10000 };

static SbRanks *
others (const SbBatch *batch)
{
  SbRanks *ranks = batch->engine->ranks;
  return ranks != NULL && ranks->size > 1 ? ranks : NULL;
}

gboolean
together_follows (const SbBatch *batch)
{
  const SbRanks *ranks = others (batch);
  return ranks != NULL && ranks->rank > 0;
}

static SbTogether *
together_new (const SbRanks *ranks)
{
  SbTogether *together = g_new0 (SbTogether, 1);
  together->n = ranks->rank == 0 ? (guint)ranks->size - 1 : 1;
  together->talk = g_new0 (Talk, together->n);
  for (guint i = 0; ranks->rank == 0 && i < together->n; i++)
    together->talk[i].rank = (int)i + 1;
  g_mutex_init (&together->one_at_a_time);
  return together;
}

gboolean
together_lost_here (const SbBatch *batch)
{
  const SbRanks *ranks = others (batch);
  return ranks != NULL && ranks->local_size == ranks->size && batch->together != NULL && batch->together->left;
}

/* Where a talk was left, MPI may still write: the memory stays, as the exchange in MPI does. */
void
together_free (SbTogether *together)
{
  if (together == NULL || together->left)
    return;
  for (guint i = 0; i < together->n; i++)
    g_free (together->talk[i].text);
  g_mutex_clear (&together->one_at_a_time);
  g_free (together->talk);
  g_free (together->plan);
  g_free (together);
}

/* ---- what there is to do ---- */

static void
add_text (GByteArray *plan, const char *text)
{
  g_byte_array_append (plan, (const guint8 *)(text != NULL ? text : ""), text != NULL ? (guint)strlen (text) + 1 : 1);
}

/* What the lock's file holds tells whether a rank sees the same folder. */
static GByteArray *
write_plan (const SbBatch *batch)
{
  GByteArray *plan = g_byte_array_new ();
  guint32 n = batch->items->len;
  g_autofree char *mark = NULL;
  g_file_get_contents (batch->lock_path, &mark, NULL, NULL);
  g_byte_array_append (plan, (const guint8 *)&n, sizeof n);
  add_text (plan, batch->prefix);
  add_text (plan, batch->lock_path);
  add_text (plan, mark);
  add_text (plan, batch->reference);
  add_text (plan, batch->reference_key);
  for (guint i = 0; i < n; i++) {
    const SbBatchItem *item = batch->items->pdata[i];
    add_text (plan, item->path);
    add_text (plan, item->name);
    add_text (plan, item->prefix);
  }
  return plan;
}

static char *
take_text (const char **at)
{
  char *text = g_strdup (*at);
  *at += strlen (text) + 1;
  return text;
}

static char *
take_optional (const char **at)
{
  char *text = take_text (at);
  if (text[0] == '\0')
    g_clear_pointer (&text, g_free);
  return text;
}

/* *mark: to be freed. */
static void
read_plan (SbBatch *batch, const char *at, char **mark)
{
  guint32 n;
  memcpy (&n, at, sizeof n);
  at += sizeof n;
  batch->prefix = take_text (&at);
  batch->lock_path = take_text (&at);
  *mark = take_text (&at);
  batch->reference = take_optional (&at);
  batch->reference_key = take_optional (&at);
  for (guint32 i = 0; i < n; i++) {
    SbBatchItem *item = batch_add (batch, take_text (&at));
    item->name = take_text (&at);
    item->prefix = take_text (&at);
  }
  batch->next = n; /* what starts here rank 0 says */
}

/* ---- rank 0 ---- */

static gboolean
tell (SbBatch *batch, gpointer data, gsize bytes, GError **error)
{
  SbTogether *together = batch->together;
  SbRanks *ranks = batch->engine->ranks;
  gboolean good = TRUE;
  for (guint i = 0; good && i < together->n; i++)
    good = letter_send (ranks, &together->talk[i].letter, together->talk[i].rank, data, bytes, error);
  for (guint i = 0; good && i < together->n; i++)
    good = together_wait (ranks, &together->talk[i].letter, error);
  together->left = !good;
  return good;
}

/* plan NULL: there is nothing to do. */
static gboolean
tell_plan (SbBatch *batch, GByteArray *plan, GError **error)
{
  SbTogether *together = batch->together = together_new (batch->engine->ranks);
  batch->led = TRUE;
  together->bytes = plan != NULL ? plan->len : 0;
  together->plan = plan != NULL ? (char *)g_byte_array_free (plan, FALSE) : NULL;
  return tell (batch, &together->bytes, sizeof together->bytes, error)
         && (together->bytes == 0 || tell (batch, together->plan, (gsize)together->bytes, error));
}

gboolean
together_lead (SbBatch *batch, GError **error)
{
  SbRanks *ranks = others (batch);
  if (ranks == NULL)
    return TRUE;
  if (!tell_plan (batch, write_plan (batch), error))
    return FALSE;
  SbTogether *together = batch->together;
  for (guint i = 0; i < together->n; i++) {
    Talk *talk = &together->talk[i];
    talk->turn = CALL;
    if (!letter_receive (ranks, &talk->letter, talk->rank, &talk->call, sizeof talk->call, error)) {
      together->left = TRUE;
      return FALSE;
    }
  }
  return TRUE;
}

void
together_dismiss (SbBatch *batch)
{
  if (others (batch) != NULL && !together_follows (batch) && !batch->led)
    tell_plan (batch, NULL, NULL);
}

/* ---- the others ---- */

/* The next letter of rank 0. */
static gboolean
hear (SbBatch *batch, gpointer data, gsize bytes, GError **error)
{
  SbRanks *ranks = batch->engine->ranks;
  SbLetter *letter = &batch->together->talk[0].letter;
  gboolean good = letter_receive (ranks, letter, 0, data, bytes, error) && together_wait (ranks, letter, error);
  batch->together->left = !good;
  return good;
}

/* A folder that the network shares may show a new file late. */
static gboolean
same_folder (const SbBatch *batch, const char *mark, GError **error)
{
  for (int ms = 0; ms < FOLDER_MS && !progress_cancelled (batch->progress); ms += LOOK_MS) {
    g_autofree char *seen = NULL;
    if (g_file_get_contents (batch->lock_path, &seen, NULL, NULL) && strcmp (seen, mark) == 0)
      return TRUE;
    g_usleep (LOOK_MS * 1000);
  }
  if (progress_cancelled (batch->progress))
    return sb_fail (error, SB_ERROR_CANCELLED, "Cancelled.");
  return sb_fail (error, SB_ERROR_IO, "%s is not there as rank 0 made it; give an output in a folder that all machines share.",
                  batch->lock_path);
}

gboolean
together_join (SbBatch *batch, GError **error)
{
  g_autofree char *mark = NULL;
  SbTogether *together = batch->together = together_new (batch->engine->ranks);
  if (!hear (batch, &together->bytes, sizeof together->bytes, error))
    return FALSE;
  if (together->bytes == 0) {
    g_clear_pointer (&batch->together, together_free);
    return TRUE;
  }
  together->plan = sb_alloc ((gsize)together->bytes, 1, "The list of a series", error);
  if (together->plan == NULL || !hear (batch, together->plan, (gsize)together->bytes, error))
    return FALSE;
  read_plan (batch, together->plan, &mark);
  return same_folder (batch, mark, error);
}
