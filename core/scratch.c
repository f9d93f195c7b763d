#include "core/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/error.h"

const char *
scratch_folder (void)
{
  const char *given = g_getenv ("TMPDIR");
  if (given != NULL && given[0] != '\0')
    return given;
  return access ("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

/* A file nobody can find: it goes with its last descriptor, however the process ends. */
static int
open_nameless (const char *folder)
{
#ifdef O_TMPFILE
  int fd = open (folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0)
    return fd;
#endif
  g_autofree char *name = g_build_filename (folder, "sideband-XXXXXX", NULL);
  int named = g_mkstemp_full (name, O_RDWR | O_CLOEXEC, 0600);
  if (named >= 0)
    unlink (name);
  return named;
}

SbScratch *
scratch_new (gsize size, gsize slack, const char *what, GError **error)
{
  const char *folder = scratch_folder ();
  g_autofree char *shown = g_filename_display_name (folder);
  int fd = open_nameless (folder);
  /* Taken now, so that a full disk is an error here and not a crash at some later write. */
  int failure = fd < 0 ? errno : posix_fallocate (fd, 0, (off_t)MAX (size, 1));
  void *data = failure == 0 ? mmap (NULL, MAX (size, 1), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  if (failure == 0 && data == MAP_FAILED)
    failure = errno;
  if (failure != 0) {
    if (fd >= 0)
      close (fd);
    sb_fail (error, failure == ENOSPC ? SB_ERROR_MEMORY : SB_ERROR_IO,
             "%s need a scratch file of %.1f MB, which could not be made in %s (%s); set TMPDIR to a folder with room, or "
             "allow more memory.",
             what, (double)size / 1e6, shown, g_strerror (failure));
    return NULL;
  }
  SbScratch *scratch = g_new0 (SbScratch, 1);
  *scratch = (SbScratch){ data, MAX (size, 1), fd, slack, 0 };
  return scratch;
}

void
scratch_free (SbScratch *scratch)
{
  if (scratch == NULL)
    return;
  munmap (scratch->data, scratch->size);
  close (scratch->fd);
  g_free (scratch);
}

void
scratch_release (SbScratch *scratch)
{
  __atomic_store_n (&scratch->touched, 0, __ATOMIC_RELAXED);
  madvise (scratch->data, scratch->size, MADV_DONTNEED);
}

gboolean
scratch_read (const SbScratch *scratch, gsize offset, gsize size, gpointer to)
{
  for (gsize done = 0; done < size;) {
    gssize n = pread (scratch->fd, (char *)to + done, size - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return FALSE;
    done += (gsize)n;
  }
  return TRUE;
}

void
scratch_touch (SbScratch *scratch, gsize bytes)
{
  if (__atomic_add_fetch (&scratch->touched, bytes, __ATOMIC_RELAXED) > scratch->slack)
    scratch_release (scratch);
}
