/* Aliases: the fine frequencies that one measured frequency holds together, and their small Hermitian systems. See the
 * model's Dealiased. */
#ifndef SB_CORE_ALIAS_H
#define SB_CORE_ALIAS_H

#include <complex.h>

#include "core/reconstruct.h"

/* Groups in the order of their measured frequency in G; members as that measured value sees them. */
typedef struct SbAliasGroups {
  gint64 n_groups, n_members, most; /* most: members of the largest group */
  gint64 *start;                    /* [n_groups + 1] */
  gint64 *source;                   /* [n_groups] */
  double *vx, *vy;                  /* [n_members] */
  gint64 *fine;                     /* [n_members] its fine frequency; -1: the negative of another member's */
  gint64 *ring_of;                  /* [n_members] fine frequency whose |q| it has */
  guint8 *conj;                     /* [n_members] its unknown is the conjugate of the fine frequency's */
  gint64 *slab_start, *slab_place;  /* [n_groups + 1] of the slab in use */
} SbAliasGroups;

/* All groups of a grid, or those whose measured frequency the view holds. */
SbAliasGroups *alias_groups_new (const SbSpectrum *spectrum, const SbFineGrid *grid, const SbkView *view, GError **error);
void alias_groups_free (SbAliasGroups *groups);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SbAliasGroups, alias_groups_free)

/* As many groups from `first` on as their sums fit into memory at once. One slab at a time. */
SbkAliases alias_slab (SbAliasGroups *groups, gint64 first);
/* Numbers that the sums of the largest slab take. */
gsize alias_slab_room (SbAliasGroups *groups);

/* x = (M + diag (ridge))^-1 <gamma,G> of every group of a slab, on the engine's threads. ridge: one number a member, or
 * (NULL) `eps` for all; an infinite one holds its unknown at zero. Where M is singular and nothing is added, the least that
 * makes it positive is. sums: the kernel's; x [members]. explained (or NULL): Re <gamma,G>^H x of each group. */
gboolean alias_solve (SbEngine *engine, const SbkAliases *slab, const double *sums, const double *ridge, double eps,
                      double complex *x, double *explained, GError **error);

#endif
