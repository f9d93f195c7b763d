/* The fit's history and flags in the result. */
#include "core/report.h"

static const char *const calls[] = {
  [SB_CALL_VALUE] = "value", [SB_CALL_GRADIENT] = "gradient", [SB_CALL_HESSIAN] = "hessian"
};

/* Arrays side by side, one entry an evaluation; `parts` are the (q,k) pairs that were used: the first q_count frequencies of
 * the band, every q_stride-th block from q_phase, every k_stride-th pixel from k_first of every
 * row_stride-th detector row from row_first. */
json_t *
report_history (const SbHistory *history)
{
  json_t *object = json_object (), *stage = json_array (), *call = json_array (), *part = json_array (), *s = json_array ();
  json_t *at = json_array ();
  for (guint i = 0; i < history->evaluations->len; i++) {
    const SbEvaluation *e = &g_array_index (history->evaluations, SbEvaluation, i);
    const SbkView *v = &e->view;
    json_t *x = json_array ();
    for (int c = 0; c < SB_N_COORDINATES; c++)
      json_array_append_new (x, report_number (e->at.x[c]));
    json_array_append_new (stage, json_string (e->stage));
    json_array_append_new (call, json_string (calls[e->call]));
    json_array_append_new (part, json_pack ("[I,I,I,I,I,I,I]", (json_int_t)v->q_count, (json_int_t)v->q_stride,
                                            (json_int_t)v->q_phase, (json_int_t)v->k_first, (json_int_t)v->k_stride,
                                            (json_int_t)v->row_first, (json_int_t)MAX (v->row_stride, 1)));
    json_array_append_new (s, report_number (e->s));
    json_array_append_new (at, x);
  }
  json_object_set_new (object, "stage", stage);
  json_object_set_new (object, "call", call);
  json_object_set_new (object, "part", part);
  json_object_set_new (
      object, "part_columns",
      json_pack ("[s,s,s,s,s,s,s]", "q_count", "q_stride", "q_phase", "k_first", "k_stride", "row_first", "row_stride"));
  json_object_set_new (object, "agreement", s);
  json_object_set_new (object, "coordinates", at);
  return object;
}

json_t *
report_names (void)
{
  json_t *list = json_array ();
  for (int c = 0; c < SB_N_COORDINATES; c++)
    json_array_append_new (list, json_string (coordinate_name (c)));
  return list;
}
