/* How ranks find each other: the launcher's environment, the MPI module. */
#include <dlfcn.h>
#include <stdlib.h>

#include "core/error.h"
#include "core/module.h"
#include "core/ranks.h"

typedef const SbMpi *(*ModuleMpi) (void);

static gboolean
number_in (const char *name, int *number)
{
  const char *text = g_getenv (name);
  char *end = NULL;
  gint64 value = text != NULL ? g_ascii_strtoll (text, &end, 10) : 0;
  if (text == NULL || end == text || *end != '\0' || value < 0 || value > G_MAXINT)
    return FALSE;
  *number = (int)value;
  return TRUE;
}

/* Open MPI; MPICH, Intel MPI and srun --mpi=pmi2; srun --mpi=pmix. A batch script of Slurm's that starts a program without
 * srun has none of these pairs. */
int
ranks_launched (int *size)
{
  static const char *const names[][2] = { { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
                                          { "PMI_RANK", "PMI_SIZE" },
                                          { "PMIX_RANK", "SLURM_STEP_NUM_TASKS" } };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) {
    int rank;
    if (number_in (names[i][0], &rank) && number_in (names[i][1], size) && rank < *size)
      return rank;
  }
  *size = 1;
  return 0;
}

gboolean
ranks_wanted (const char *engine)
{
  int size;
  ranks_launched (&size);
  return g_strcmp0 (engine, "mpi") == 0 || (size > 1 && g_strcmp0 (engine, "local") != 0);
}

/* Its symbols, and with them MPI's, for all: MPI opens parts of its own that look for them. */
static const SbMpi *
open_module (GError **error)
{
  g_autofree char *beside = module_beside ("libsideband_mpi.so", "mpi");
  void *handle = dlopen (beside != NULL ? beside : "libsideband_mpi.so", RTLD_NOW | RTLD_GLOBAL);
  if (handle == NULL) {
    sb_fail (error, SB_ERROR_BACKEND,
             "The MPI module could not be opened (%s); install it beside the library, or give "
             "engine = local to let every process work alone.",
             dlerror ());
    return NULL;
  }
  ModuleMpi get = (ModuleMpi)dlsym (handle, "sb_mpi_module");
  const SbMpi *mpi = get != NULL ? get () : NULL;
  if (mpi != NULL && mpi->abi == SB_MPI_ABI)
    return mpi;
  sb_fail (error, SB_ERROR_BACKEND,
           "The MPI module belongs to another version of the library; install both from one "
           "release, or give engine = local.");
  return NULL;
}

static gboolean
sum (gpointer comm, double *values, gsize n, GError **error)
{
  return ranks_combine (comm, RANKS_SUMS, RANKS_SUM_DOUBLE, values, n, error);
}

SbRanks *
ranks_open (GError **error)
{
  static gint opened;
  char message[SB_MPI_MESSAGE] = "";
  SbMpiWorld world = { 0, 1, 0, 1 };
  const SbMpi *mpi = open_module (error);
  if (mpi == NULL)
    return NULL;
  if (!g_atomic_int_compare_and_exchange (&opened, 0, 1)) {
    sb_fail (error, SB_ERROR_STATE,
             "A session with engine = mpi was made before in this process, and MPI begins only once; "
             "keep one session.");
    return NULL;
  }
  if (mpi->begin (&world, message) != 0) {
    sb_fail (error, SB_ERROR_BACKEND, "MPI does not start (%s); start the program with mpirun, or give engine = local.",
             message);
    return NULL;
  }
  SbRanks *ranks = g_new0 (SbRanks, 1);
  ranks->rank = world.rank;
  ranks->size = world.size;
  ranks->local_rank = world.local_rank;
  ranks->local_size = world.local_size;
  ranks->mpi = mpi;
  ranks->reduce = (SbReduce){ world.rank, world.size, sum, ranks };
  if (ranks->size > 1 && (ranks->watch = watch_new (ranks, error)) == NULL) {
    g_free (ranks); /* MPI stays begun: its end would wait for ranks that may be gone */
    return NULL;
  }
  return ranks;
}

/* Where MPI cannot end in order, the process that speaks goes first: launchers kill the others as soon as one has gone. */
void
ranks_close (SbRanks *ranks)
{
  if (ranks == NULL)
    return;
  SbFault fault = { 0 };
  gboolean lost = watch_fault (ranks->watch, &fault) && fault.lost;
  g_free (fault.text);
  if (!lost && !ranks->broken) {
    watch_ending (ranks->watch);
    ranks->mpi->end ();
  } else if (ranks_rank (ranks) != 0)
    watch_linger (ranks->watch);
  watch_free (ranks->watch);
  g_free (ranks);
}
