/* What is behind the opaque handles. Lifetimes: data and jobs hold a reference on their session and jobs one
 * on their data, so a host may free them in any order; the last one out frees the engine. */
#ifndef SB_PLUGIN_INSIDE_H
#define SB_PLUGIN_INSIDE_H

#include "core/live.h"
#include "core/pipeline.h"
#include "plugin/command.h"
#include "plugin/sideband.h"

struct sb_session {
  gint refs;
  GPid owner; /* a forked child has neither the threads nor the device */
  SbEngine *engine;
  SbOptions *options;
  GMutex lock; /* of all below */
  GCond changed;
  gboolean closed;
  GQueue queue; /* sb_job *, in order of their start; the first one computes */
};

/* FALSE with SB_ERROR_FORKED or, once it was freed, SB_ERROR_STATE. */
gboolean session_check (sb_session *session, GError **error);
gboolean session_forked (const sb_session *session, GError **error); /* TRUE, with an error, in a forked child */
sb_session *session_ref (sb_session *session);
void session_unref (sb_session *session);
/* One job computes at a time: enter when a job starts, wait for its turn on its own thread, leave when it
 * ended. */
gboolean session_enter (sb_session *session, sb_job *job, GError **error);
gboolean session_wait_turn (sb_session *session, sb_job *job, GError **error);
void session_leave (sb_session *session, sb_job *job);

struct sb_data {
  gint refs;
  gint users; /* the host and the jobs that have not ended: without any nothing computes on it again */
  sb_session *session;
  SbOptions *options;
  SbAcquisition *acquisition;
  SbWork *work;
  GRWLock lock;     /* frames are pushed side by side (readers); finish stands alone (writer) */
  SbGather *gather; /* pushed frames; NULL for a file */
  gboolean finished;
  GMutex look_lock; /* of all below */
  float *look;      /* mean pattern, once it no longer changes */
  SbLive *live;     /* images of pushed frames, once one was asked for */
  GHashTable *last; /* what -> float *: images as they were asked for last; after finish they stay */
  char *info;
};

/* A reference, and a user of what is computed from the data. */
sb_data *data_use (sb_data *data);
/* A user less; the last one takes the columns and all that was made of them along. The reference stays: a look at a file
 * needs no more. */
void data_rest (sb_data *data);
void data_unref (sb_data *data);
gboolean data_check (sb_data *data, GError **error);
gboolean data_ready (sb_data *data, GError **error); /* a job may start */
gboolean data_preview (sb_data *data, const char *what, const sb_view *view, GError **error);
GHashTable *preview_table (void);
/* Before the columns go to the work: the images that were asked for, of all frames. */
void preview_refresh (sb_data *data);
json_t *data_describe (sb_data *data);

typedef enum SbJobState { SB_JOB_NEW, SB_JOB_RUNNING, SB_JOB_ENDED } SbJobState;

struct sb_job {
  sb_session *session;
  sb_data *data; /* NULL where the command needs none */
  const SbCommand *command;
  SbOptions *options;
  SbProgress progress;
  GMutex lock; /* of all below */
  GCond ended;
  SbJobState state;
  GThread *thread;
  int status;
  char *message;
  sb_result *result;
};

/* Immutable once made, so that any thread may read it. */
struct sb_result {
  SbResult *inside;
  char *info;
  gboolean owned; /* by a job: the host does not free it */
};

/* Takes the result. */
sb_result *result_wrap (SbResult *inside, gboolean owned);
void result_unwrap (sb_result *result);
gboolean result_copy_image (const sb_result *result, const char *name, const sb_view *view, GError **error);

#endif
