#include "host-adapters/cli/cli.h"

#include <string.h>

enum { LINE = 100 };

/* Where the sentence starts on GOption's line "  --name=X     Sentence."; 0: it is no such line. */
static gsize
sentence_column (const char *line)
{
  if (!g_str_has_prefix (line, "  -"))
    return 0;
  const char *gap = strstr (line + 3, "  ");
  return gap != NULL ? (gsize)(gap - line) + strspn (gap, " ") : 0;
}

static void
append_wrapped (GString *out, const char *line)
{
  gsize column = sentence_column (line);
  g_auto (GStrv) words = g_strsplit (line + column, " ", -1);
  glong used = (glong)column;
  g_string_append_len (out, line, (gssize)column);
  for (guint i = 0; words[i] != NULL; i++) {
    glong length = g_utf8_strlen (words[i], -1);
    if (i > 0 && column > 0 && used + 1 + length > LINE) {
      g_string_append_printf (out, "\n%*s", (int)column, "");
      used = (glong)column;
    } else if (i > 0) {
      g_string_append_c (out, ' ');
      used++;
    }
    g_string_append (out, words[i]);
    used += length;
  }
  g_string_append_c (out, '\n');
}

char *
wrap_help (const char *help)
{
  GString *out = g_string_new (NULL);
  g_auto (GStrv) lines = g_strsplit (help, "\n", -1);
  guint n = g_strv_length (lines);
  while (n > 0 && lines[n - 1][0] == '\0')
    n--;
  for (guint i = 0; i < n; i++)
    append_wrapped (out, lines[i]);
  return g_string_free (out, FALSE);
}
