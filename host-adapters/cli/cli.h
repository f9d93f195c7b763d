/* The shell's door to libsideband: it translates words to JSON and JSON to a table. What it knows of commands and
 * parameters it reads from sb_catalog (): a new row or command shows up here by itself. */
#ifndef SIDEBAND_CLI_H
#define SIDEBAND_CLI_H

#include <glib.h>
#include <jansson.h>
#include <stdio.h>

#include "sideband.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_CANCELLED = 130 };

typedef struct Cli {
  json_t *catalog;              /* sb_catalog () */
  const json_t *command;        /* its entry of the command to run; NULL for a command of ours */
  const char *word;             /* the command as typed */
  json_t *session, *data, *job; /* parameters, as the library takes them; data and job may stay empty */
  gboolean json, quiet, help;
  gboolean log_json;
  gboolean met;          /* a session was made: the library sees who ends first */
  char **files;          /* arguments that are not options */
  GStringChunk *strings; /* texts that GOption borrows */
} Cli;

/* ---- catalog.c ---- */
/* NULL with a sentence where the library and we do not speak the same ABI or its catalog is damaged. */
json_t *catalog_load (GError **error);
/* The element of an array of objects that bears this name; NULL: none. */
const json_t *catalog_named (const json_t *array, const char *name);
const char *catalog_text (const json_t *object, const char *key); /* "" where there is none */
/* The groups of parameters that a command takes, by where they go: i = 0 session, 1 data, 2 job; NULL: none. */
const json_t *catalog_section (const Cli *cli, int i);
json_t *catalog_target (const Cli *cli, int i);
/* A row by its JSON name in any of the sections, or in any command at all. */
const json_t *catalog_row (const Cli *cli, const char *name);
const json_t *catalog_row_anywhere (const json_t *catalog, const char *name);
/* The row of the command that takes any number of files; NULL: none does. */
const char *catalog_files (const Cli *cli);
/* The word of the list nearest to a mistyped one; NULL where nothing is near. */
const char *catalog_nearest (const char *word, GPtrArray *words);

/* ---- value.c ---- */
/* What was typed, as JSON of the row's type. *out is NULL for "auto" in a number's place: not given. */
gboolean value_parse (const json_t *row, const char *text, json_t **out, GError **error);
/* "X", "ROWS,COLS", "auto|keep|twin": what help shows. */
char *value_placeholder (const json_t *row);
/* A JSON value as a person reads it: 30, 50 x 50, (36.00, 36.00). */
char *value_text (const json_t *value, gboolean shape);

/* ---- options.c ---- */
/* Fills the parameters from the command line. */
gboolean options_parse (Cli *cli, char **argv, GError **error);
char *options_help (Cli *cli);

/* ---- wrap.c ---- */
/* GOption's help with long sentences broken into lines. */
char *wrap_help (const char *help);

/* ---- monitor.c ---- */
typedef struct Monitor Monitor;
Monitor *monitor_new (const Cli *cli);
void monitor_update (Monitor *monitor, double fraction, const char *stage);
/* Erases the bar; what the library still had to say is printed. */
void monitor_free (Monitor *monitor);
void monitor_warning (const Cli *cli, const char *message);
/* Every list named "warnings" of a result, each sentence once. */
void monitor_warnings (const Cli *cli, const json_t *info);

/* ---- job.c ---- */
int job_run (Cli *cli);
/* Prints a failure in the forms that were asked for and returns the exit code of the status. */
int report_failure (const Cli *cli, int status, const char *message);
/* Prints a result: its JSON or its table. */
int report_result (const Cli *cli, const sb_result *result);

/* ---- table.c, grid.c, number.c ---- */
char *table_text (const json_t *catalog, const json_t *info);
/* The rows of a table {"columns", "rows"}, of columns that are worth the room. */
void append_grid (GString *out, const json_t *table);
/* "6.07 ± 0.06": two significant digits of the uncertainty, the value rounded to match; NAN or 0: not known. */
char *number_with_uncertainty (double value, double uncertainty);

/* ---- voice.c ---- */
/* Of processes that were started together one speaks: the others' words go nowhere, and come back where they are left. */
void voice_follow (int rank);
/* Before a process ends that failed while it knew of no other: launchers end all as soon as one has failed, so that a silent one
 * waits for that, or a few seconds, and the one that speaks has spoken. */
void voice_wait (void);

/* ---- show.c ---- */
int show_result (Cli *cli);
int show_list (Cli *cli, const char *list);

#endif
