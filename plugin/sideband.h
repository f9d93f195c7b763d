/* Sideband: the public C interface. One library does the work; hosts (shell, ImageJ, napari) translate.
 *
 *   sb_session *session = NULL;  sb_data *data = NULL;  sb_job *job = NULL;
 *   if (sb_session_new (&session, NULL) == SB_OK
 *       && sb_data_open (&data, session, "columns_master.h5", NULL) == SB_OK
 *       && sb_job_new (&job, session, "run", data, "{\"semiangle\": 30}") == SB_OK
 *       && sb_job_start (job) == SB_OK) {
 *     while (sb_job_wait (job, 50) == SB_RUNNING)
 *       printf ("%3.0f %%\r", 100 * sb_job_progress (job, NULL));
 *     const sb_result *result = sb_job_result (job);
 *     if (result != NULL)
 *       puts (sb_result_info (result));
 *   }
 *   if (sb_error_message ()[0] != '\0') fprintf (stderr, "%s\n", sb_error_message ());
 *   sb_job_free (job);  sb_data_free (data);  sb_session_free (session);
 *
 * Rules. What can fail returns a status and takes its out first; the sentence that explains a failure is
 * sb_error_message () on the thread that made the call (a job keeps its own: sb_job_error). Strings and arrays are
 * borrowed: valid until the object they came from is freed (a second call of the same getter may replace them). Parameters
 * are JSON objects of the names sb_catalog () lists; NULL or "" is {}; an unknown key is an error that names the nearest
 * one. Every free function takes NULL. Frames, patterns and images are C-ordered; vectors are (row, col).
 * Threads: calls on different objects may run at the same time; sb_data_push, sb_data_preview, sb_job_progress,
 * sb_job_cancel and sb_job_wait may be called from any thread at any time. A forked child may call nothing but frees. */
#ifndef SIDEBAND_H
#define SIDEBAND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SB_API __attribute__ ((visibility ("default")))
#else
#define SB_API
#endif

/* An adapter built for one number refuses a library with another. */
#define SB_ABI_VERSION 1

typedef enum sb_status {
  SB_OK = 0,
  SB_CANCELLED = 1, /* the user stopped the work; not a failure */
  SB_ARGUMENT = 2,  /* a value given by the caller is wrong or missing */
  SB_DATA = 3,      /* the acquisition itself cannot be used */
  SB_IO = 4,        /* a file cannot be read or written */
  SB_MEMORY = 5,
  SB_BACKEND = 6, /* a device or its library failed */
  SB_FORKED = 7,  /* called in a forked child of the process that made the session */
  SB_STATE = 8,   /* called in the wrong order */
  SB_INTERNAL = 9,
  SB_RUNNING = 10 /* of sb_job_wait only: not ended yet */
} sb_status;

typedef struct sb_session sb_session; /* threads, device, plans, memory; several may live side by side */
typedef struct sb_data sb_data;       /* an acquisition: a file, or frames pushed by the host */
typedef struct sb_job sb_job;         /* one run of one command, on a thread of its own */
typedef struct sb_result sb_result;

typedef enum sb_dtype {
  SB_DTYPE_U8 = 0,
  SB_DTYPE_U16 = 1,
  SB_DTYPE_U32 = 2,
  SB_DTYPE_I16 = 3,
  SB_DTYPE_I32 = 4,
  SB_DTYPE_F32 = 5,
  SB_DTYPE_F64 = 6
} sb_dtype;

/* A plain array. struct_size is set by the caller to sizeof (sb_view) before any call, in or out. */
typedef struct sb_view {
  size_t struct_size;
  int32_t dtype;  /* sb_dtype */
  int32_t n_dims; /* 1 .. 4 */
  int64_t shape[4];
  int64_t strides[4]; /* bytes; all 0: C-contiguous */
  void *data;
} sb_view;

/* ---- library ---- */

/* "0.1.0" */
SB_API const char *sb_version (void);
SB_API int sb_abi_version (void);
/* JSON of everything there is, for building dialogs, options, checks and help:
 * {"version", "abi", "session": [GROUP], "data": [GROUP], "pushed": [GROUP],
 *  "commands": [{"name", "title", "help", "needs_data": bool, "files", "groups": [GROUP]}],
 *  "methods": [{"name","title","help"}], "formats": [{"name","title","suffixes": [..]}], "writers": [{"name","suffix"}],
 *  "statuses": [{"value","name"}], "backends": [..]}
 * A command's files (null: none) names its row for any number of files, one a line.
 * GROUP = {"name", "title", "rows": [ROW]}; ROW = {"name", "title", "unit", "help", "type": "bool" | "int" | "double" |
 * "choice" | "text" | "path" | "pair" | "shape" | "region", "default" (null: not given), "min", "max", "show_min",
 * "show_max" (null: none), "choices": [..], "advanced", "asked", "live", "record": bool}. */
SB_API const char *sb_catalog (void);
/* The sentence of the last failing call on this thread; "" where there was none. Never NULL. */
SB_API const char *sb_error_message (void);
/* Where the library's remarks go: level 0 debug .. 3 warning. NULL: back to GLib's log. Called from any thread, one call at
 * a time; it must not free or wait for a job. Once this returns, the function set before is not called any more. */
typedef void (*sb_log_function) (int level, const char *message, void *user_data);
SB_API void sb_log_set (sb_log_function function, void *user_data);

/* ---- session ---- */

/* json: the catalog's "session" groups. */
SB_API int sb_session_new (sb_session **out, const char *json);
/* With engine = mpi (or auto, under mpirun) the processes that were started together share each acquisition: all must make
 * the same calls in the same order, each gets the whole result, and the one of rank 0 alone writes files; it is the one to
 * print. Should it be lost, the next one has rank 0. Alone: 0. NULL: as the launcher's environment says. */
SB_API int sb_session_rank (const sb_session *session);
/* Ends running jobs (cancel, wait) of the session first; its data and jobs may be freed later but do nothing any more. */
SB_API void sb_session_free (sb_session *session);

/* ---- data ---- */

/* Opens a file: headers only. json: the catalog's "data" groups. */
SB_API int sb_data_open (sb_data **out, sb_session *session, const char *path, const char *json);
/* For frames the host will push; json: the catalog's "pushed" groups, of which scan_shape, detector_shape and dtype must be
 * given. Optics said here need not be said to jobs; a calibration said here is that of live images. */
SB_API int sb_data_new (sb_data **out, sb_session *session, const char *json);
/* Frames [first, first + n), view [n, rows, cols] or [rows, cols] (n = 1), in any order, from any thread; copied. */
SB_API int sb_data_push (sb_data *data, int64_t first, int64_t n, const sb_view *view);
/* All frames are pushed; jobs may start. */
SB_API int sb_data_finish (sb_data *data);
/* JSON: {"acquisition": {...}, ...}; borrowed. NULL on failure. */
SB_API const char *sb_data_info (sb_data *data);
/* Raw frames [first, first + n) of a file, into the host's C-contiguous view [n, rows, cols] of the acquisition's own dtype. */
SB_API int sb_data_frames (sb_data *data, int64_t first, int64_t n, const sb_view *view);
/* A look at what is there, at any time, into the host's memory (SB_DTYPE_F32): what = "mean_pattern" [detector rows, cols].
 * Of frames that are being pushed, from the 65th on, also images [scan rows, cols] at a cost that does not grow with the
 * scan: "bright_field" (mean counts of a pixel of the disk; 0 where no frame is yet) and "ssb" (rad; single sideband, the
 * optics given to sb_data_new), behind which coefficients may stand: "ssb C10=5.5 C12=1.2 phi12=0.3". After sb_data_finish
 * the images that were asked for before stay, of all frames. */
SB_API int sb_data_preview (sb_data *data, const char *what, const sb_view *view);
SB_API void sb_data_free (sb_data *data);

/* ---- job ---- */

/* command: a name of the catalog's "commands"; json: that command's groups. data must be of the same session; it may be
 * freed while the job lives. Files are written only where json names an `output`: all of them before the job ends, or none. */
SB_API int sb_job_new (sb_job **out, sb_session *session, const char *command, sb_data *data, const char *json);
SB_API int sb_job_start (sb_job *job);
/* Waits up to ms milliseconds (negative: for ever). SB_RUNNING: not ended; else the job's own status, and where it is not
 * SB_OK the job's sentence becomes this thread's. Jobs of one session compute one after another, in the order of start. */
SB_API int sb_job_wait (sb_job *job, int ms);
/* 0 .. 1; stage (may be NULL) receives a static word: "load", "fit" ... */
SB_API double sb_job_progress (sb_job *job, const char **stage);
SB_API void sb_job_cancel (sb_job *job);
/* As sb_data_preview: "mean_pattern" at any time; an image of the result ("phase") once there is one, SB_STATE before. */
SB_API int sb_job_preview (sb_job *job, const char *what, const sb_view *view);
/* The sentence of the job's failure; "" while there is none. Where another rank is lost it stands before the job has ended:
 * launchers leave little time then. */
SB_API const char *sb_job_error (sb_job *job);
/* Owned by the job; NULL until it ended with SB_OK. */
SB_API const sb_result *sb_job_result (sb_job *job);
/* Cancels and waits where it still runs. */
SB_API void sb_job_free (sb_job *job);

/* ---- result ---- */

/* The JSON object of the contract: values, coordinates, calibration, parameters that reproduce it, seconds ...; "arrays"
 * lists [{"name", "title", "unit", "shape", "step", "axis_unit", "detail"}]; detail: hosts need not show it unasked. */
SB_API const char *sb_result_info (const sb_result *result);
/* Borrowed view of a named array (SB_DTYPE_F32; pictures SB_DTYPE_U8). */
SB_API int sb_result_array (sb_view *out, const sb_result *result, const char *name);
/* kind: "hdf5", "tiff", "png", "json"; written whole or not at all. */
SB_API int sb_result_save (const sb_result *result, const char *path, const char *kind);
SB_API int sb_result_open (sb_result **out, const char *path);
/* Only for results of sb_result_open. */
SB_API void sb_result_free (sb_result *result);

#ifdef __cplusplus
}
#endif
#endif
