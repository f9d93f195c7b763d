/* The only user of HDF5: one mutex round every call, HDF5's own messages silenced, and the words of our
 * errors.
 *
 * All functions but begin, end, lock and unlock are called between h5io_begin() and h5io_end(); the lock is
 * never held while chunks are decoded. It is not recursive. */
#ifndef SB_CORE_H5IO_H
#define SB_CORE_H5IO_H

#include <glib.h>
#include <hdf5.h>

void h5io_lock (void);
void h5io_unlock (void);
/* Checks that the loaded HDF5 is the one of our headers (FALSE: another copy came first), takes the lock and
 * silences HDF5's error stack. FALSE: nothing is held and h5io_end() must not be called. */
gboolean h5io_begin (GError **error);
/* Restores the error stack's printer and gives the lock back. */
void h5io_end (void);

/* Opens for reading; a file that is shorter than its superblock says is an SB_ERROR_IO "... is truncated
 * (have N bytes, needs M bytes): copy it again."; a negative id on failure. */
hid_t h5io_open_file (const char *path, GError **error);
/* Closes what was opened (or not); `good`, but FALSE with SB_ERROR_DATA where texts or mappings met since h5io_begin() were
 * damaged: what was read is not all that the file had. */
gboolean h5io_close_file (hid_t file, gboolean good, GError **error);
/* SB_ERROR_IO when the file is shorter than its superblock says; TRUE also where it is no HDF5 file at all.
 * No lock. */
gboolean h5io_check_size (const char *path, GError **error);
/* TRUE where the bytes hold HDF5's signature at one of the offsets where it may stand. No lock. */
gboolean h5io_has_signature (const guint8 *head, gsize size);

/* Is there an object (or a link) of that path? Never an error, and never follows an external link. */
gboolean h5io_exists (hid_t at, const char *path);

/* A dataset of one number (any integer or float type, scalar or of shape (1,)); FALSE: absent or of another
 * kind. */
gboolean h5io_number (hid_t at, const char *path, double *value);
/* The same for an attribute of the object at path ("." for itself). */
gboolean h5io_attribute (hid_t at, const char *path, const char *name, double *value);
/* n numbers of an attribute; FALSE unless it has exactly n. */
gboolean h5io_attribute_numbers (hid_t at, const char *path, const char *name, gsize n, double *values);
/* A text (fixed or variable length, scalar or (1,)); NULL: absent. */
char *h5io_text (hid_t at, const char *path);
char *h5io_attribute_text (hid_t at, const char *path, const char *name);
/* A list of texts, or one; NULL: absent, no text, or too many of them. */
char **h5io_texts (hid_t at, const char *path);
char **h5io_attribute_texts (hid_t at, const char *path, const char *name);
/* One text of an attribute, up to 16 MiB of it. */
char *h5io_long_text (hid_t at, const char *path, const char *name);
/* A whole rows x cols dataset of integers as guint32, newly allocated; NULL: absent, of another shape, or no
 * memory. */
guint32 *h5io_map (hid_t at, const char *path, gint64 rows, gint64 cols);
/* The same of floats. */
float *h5io_floats (hid_t at, const char *path, gint64 rows, gint64 cols);
/* The first n numbers of a dataset of one axis; how many there were. */
gsize h5io_numbers (hid_t at, const char *path, gsize n, double *values);

/* One link of a group. */
typedef struct SbLink {
  char *name;
  char *file;   /* of an external link, as it stands there; NULL: a link inside this file */
  char *target; /* path in that file; of an external or soft link */
} SbLink;
void link_free (SbLink *link);
/* FALSE: its links are damaged, and must not be listed. */
gboolean h5io_group_is_sound (hid_t group);
/* The links of a group whose names begin with prefix, in numeric order of what follows; NULL: no group, or one whose links
 * are damaged. */
GPtrArray *h5io_links (hid_t at, const char *group, const char *prefix);

#endif
