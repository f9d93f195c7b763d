#include "tests/unit/comma_locale.h"

#include <locale.h>

gboolean
set_comma_locale (void)
{
  static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "es_ES.UTF-8", "nl_NL.UTF-8" };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (setlocale (LC_ALL, names[i]) != NULL && localeconv ()->decimal_point[0] == ',')
      return TRUE;
  g_autofree char *folder = g_dir_make_tmp ("sideband-locale-XXXXXX", NULL);
  g_autofree char *target = g_build_filename (folder, "de_DE.UTF-8", NULL);
  const char *const command[] = { "localedef", "-i", "de_DE", "-f", "UTF-8", target, NULL };
  gboolean made = g_spawn_sync (NULL, (char **)command, NULL,
                                G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL,
                                NULL, NULL, NULL);
  g_setenv ("LOCPATH", folder, TRUE);
  made = made && setlocale (LC_ALL, "de_DE.UTF-8") != NULL && localeconv ()->decimal_point[0] == ',';
  g_unsetenv ("LOCPATH");
  const char *const clean[] = { "rm", "-r", folder, NULL };
  g_spawn_sync (NULL, (char **)clean, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
  return made;
}
