/* The files of bench_load, and threads that wait for work as the library's do. */
#ifndef SB_TESTS_BENCH_LOAD_FILES_H
#define SB_TESTS_BENCH_LOAD_FILES_H

#include "kernels/backend.h"

enum { SIDE = 192, PIXELS = SIDE * SIDE, BYTES = 2 * PIXELS, A_FILE = 1000 };

typedef struct Place {
  int file;
  uint32_t size;
  uint64_t offset;
} Place;

typedef struct Files {
  const char *folder;
  int64_t frames;
  Place *place;
} Files;

void load_pool_start (unsigned threads);
void load_pool_run (void *unused, int64_t n, SbkTask task, void *data);

void load_file_name (const char *folder, int64_t file, char name[512]);
/* Frames of a disk of 53 pixels radius with 20 electrons a pixel, A_FILE in each file; fills place. */
void load_files_make (const Files *files);

#endif
