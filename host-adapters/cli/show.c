#include "host-adapters/cli/cli.h"

#include <string.h>

int
show_result (Cli *cli)
{
  sb_result *result = NULL;
  int status = sb_result_open (&result, cli->files[0]);
  int code = status == SB_OK ? report_result (cli, result) : report_failure (cli, status, sb_error_message ());
  sb_result_free (result);
  return code;
}

/* A list of the catalog, as names with titles (and what else there is to say), or as its JSON. */
int
show_list (Cli *cli, const char *list)
{
  json_t *entries = json_object_get (cli->catalog, list);
  if (cli->json) {
    char *text = json_dumps (json_is_array (entries) ? entries : json_null (), JSON_INDENT (2) | JSON_ENCODE_ANY);
    printf ("%s\n", text);
    free (text);
    return EXIT_DONE;
  }
  size_t i, j;
  json_t *entry, *suffix;
  json_array_foreach (entries, i, entry) {
    const char *help = catalog_text (entry, "help");
    printf ("%-14s %s", catalog_text (entry, "name"), catalog_text (entry, "title"));
    json_array_foreach (json_object_get (entry, "suffixes"), j, suffix)
      printf ("%s.%s", j == 0 ? "  " : " ", json_string_value (suffix));
    if (help[0] != '\0')
      printf ("\n%-14s %s", "", help);
    putchar ('\n');
  }
  return EXIT_DONE;
}
