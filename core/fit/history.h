/* What the fit evaluated, in order: enough to evaluate any of it again and get the same bits. */
#ifndef SB_CORE_FIT_HISTORY_H
#define SB_CORE_FIT_HISTORY_H

#include "core/agreement.h"

typedef enum SbCall { SB_CALL_VALUE, SB_CALL_GRADIENT, SB_CALL_HESSIAN } SbCall;

typedef struct SbEvaluation {
  const char *stage; /* static: "trial", "march", "thin", "start", "joint", "climb", "converge", ... */
  SbCall call;
  SbkView view; /* of the (q,k) pairs */
  SbCoordinates at;
  double s;
} SbEvaluation;

typedef struct SbHistory {
  GArray *evaluations; /* SbEvaluation */
} SbHistory;

SbHistory *history_new (void);
void history_free (SbHistory *history);
/* Does nothing where history is NULL. */
void history_add (SbHistory *history, const char *stage, SbCall call, const SbAgreement *agreement, const SbCoordinates *at,
                  double s);

#endif
