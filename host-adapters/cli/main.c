#include "host-adapters/cli/cli.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* Commands that need no job: the catalog knows nothing of them. */
static const char *const own_commands[][2] = {
  { "show", "Print the table of a result file (_result.h5 or _fit.json)." },
  { "formats", "List the file formats that can be read." },
  { "methods", "List the reconstruction methods." },
};

static gboolean
is_own (const char *word)
{
  for (guint i = 0; i < G_N_ELEMENTS (own_commands); i++) {
    if (strcmp (word, own_commands[i][0]) == 0)
      return TRUE;
  }
  return FALSE;
}

static void
print_help (const Cli *cli)
{
  size_t i;
  json_t *command;
  printf ("Usage: sideband COMMAND FILE [OPTION...]\n\n"
          "Fits the aberrations of a 4D-STEM acquisition and reconstructs its phase by direct ptychography.\n\n"
          "Commands:\n");
  json_array_foreach (json_object_get (cli->catalog, "commands"), i, command)
    printf ("  %-14s %s\n", catalog_text (command, "name"), catalog_text (command, "help"));
  for (i = 0; i < G_N_ELEMENTS (own_commands); i++)
    printf ("  %-14s %s\n", own_commands[i][0], own_commands[i][1]);
  printf ("\nsideband COMMAND --help lists the options of a command; sideband --version prints the version.\n"
          "Exit status: 0 done, 1 failed, 2 a wrong command, option or value, 130 stopped by Ctrl-C.\n"
          "Example: sideband run columns_master.h5 --semiangle 30 --output results/\n");
}

static int
unknown_command (const Cli *cli, const char *word)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new ();
  size_t i;
  json_t *command;
  json_array_foreach (json_object_get (cli->catalog, "commands"), i, command)
    g_ptr_array_add (words, (gpointer)catalog_text (command, "name"));
  for (i = 0; i < G_N_ELEMENTS (own_commands); i++)
    g_ptr_array_add (words, (gpointer)own_commands[i][0]);
  const char *nearest = catalog_nearest (word, words);
  g_autofree char *message = word[0] == '-' ? g_strdup_printf (
                                 "The command comes before the option %s; \"sideband --help\" lists the commands.", word)
                             : nearest != NULL
                                 ? g_strdup_printf ("There is no command \"%s\"; did you mean %s?", word, nearest)
                                 : g_strdup_printf ("There is no command \"%s\"; \"sideband --help\" lists them.", word);
  return report_failure (cli, SB_ARGUMENT, message);
}

/* Files of a command that takes any number of them are one of its parameters, a line each. */
static gboolean
take_files (Cli *cli, GError **error)
{
  const char *row = catalog_files (cli), *given = json_string_value (json_object_get (cli->job, row));
  g_autofree char *words = cli->files != NULL ? g_strjoinv ("\n", cli->files) : NULL;
  g_autofree char *all = given != NULL && words != NULL ? g_strconcat (given, "\n", words, NULL) : g_strdup (words);
  g_clear_pointer (&cli->files, g_strfreev);
  if (all != NULL && json_object_set_new (cli->job, row, json_string (all)) != 0)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, "A file's name is not UTF-8; give the folder instead.");
  else if (all == NULL && given == NULL)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED,
                 "Which files? Type: sideband %s FILE..., a folder, a pattern in quotes, or @ and the name of a list.",
                 cli->word);
  else
    return TRUE;
  return FALSE;
}

/* One file where the command takes one, none where it does not. */
static gboolean
check_files (const Cli *cli, GError **error)
{
  gboolean wanted = cli->command != NULL ? json_is_true (json_object_get (cli->command, "needs_data"))
                                         : strcmp (cli->word, "show") == 0;
  guint n = cli->files != NULL ? g_strv_length (cli->files) : 0;
  if (wanted && n == 0)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, "Which file? Type: sideband %s FILE.", cli->word);
  else if (n > (wanted ? 1 : 0))
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, "sideband %s takes %s, but \"%s\" was given too.", cli->word,
                 wanted ? "one file" : "no file", cli->files[wanted ? 1 : 0]);
  return n == (wanted ? 1 : 0);
}

/* In the shell a command that can write its result does so, into the current folder unless told. */
static void
write_by_default (Cli *cli)
{
  const char *key = "output";
  if (catalog_row (cli, key) != NULL && json_object_get (cli->job, key) == NULL)
    json_object_set_new (cli->job, key, json_string ("."));
}

static int
run_command (Cli *cli, char **argv)
{
  g_autoptr (GError) error = NULL;
  if (!options_parse (cli, argv, &error))
    return report_failure (cli, SB_ARGUMENT, error->message);
  if (cli->help) {
    g_autofree char *help = options_help (cli);
    fputs (help, stdout);
    return EXIT_DONE;
  }
  if (catalog_files (cli) != NULL ? !take_files (cli, &error) : !check_files (cli, &error))
    return report_failure (cli, SB_ARGUMENT, error->message);
  if (cli->command == NULL)
    return strcmp (cli->word, "show") == 0 ? show_result (cli) : show_list (cli, cli->word);
  write_by_default (cli);
  return job_run (cli);
}

static int
dispatch (Cli *cli, int argc, char **argv)
{
  if (argc < 2) {
    print_help (cli);
    return EXIT_USAGE;
  }
  const char *word = argv[1];
  if (strcmp (word, "--help") == 0 || strcmp (word, "-h") == 0 || strcmp (word, "help") == 0) {
    print_help (cli);
    return EXIT_DONE;
  }
  if (strcmp (word, "--version") == 0) {
    printf ("sideband %s\n", sb_version ());
    return EXIT_DONE;
  }
  for (int i = 2; i < argc; i++) /* known before the options are, for their errors */
    cli->json = cli->json || strcmp (argv[i], "--json") == 0;
  cli->word = word;
  cli->command = catalog_named (json_object_get (cli->catalog, "commands"), word);
  return cli->command != NULL || is_own (word) ? run_command (cli, argv + 1) : unknown_command (cli, word);
}

int
main (int argc, char **argv)
{
  voice_follow (sb_session_rank (NULL));
  setlocale (LC_CTYPE, ""); /* not LC_NUMERIC: numbers are written with a point */
  Cli cli = { 0 };
  g_autoptr (GError) error = NULL;
  cli.catalog = catalog_load (&error);
  if (cli.catalog == NULL) {
    fprintf (stderr, "sideband: %s\n", error->message);
    voice_wait ();
    return EXIT_FAILED;
  }
  cli.session = json_object ();
  cli.data = json_object ();
  cli.job = json_object ();
  cli.strings = g_string_chunk_new (4096);
  int code = dispatch (&cli, argc, argv);
  if (code != EXIT_DONE && !cli.met)
    voice_wait ();
  if (fflush (stdout) != 0 || ferror (stdout)) {
    fprintf (stderr, "sideband: The output could not be written: is the disk full?\n");
    code = code == EXIT_DONE ? EXIT_FAILED : code;
  }
  json_decref (cli.session);
  json_decref (cli.data);
  json_decref (cli.job);
  json_decref (cli.catalog);
  g_string_chunk_free (cli.strings);
  g_strfreev (cli.files);
  return code;
}
