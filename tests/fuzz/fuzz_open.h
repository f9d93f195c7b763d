/* What every target of the readers does with a file, and the folder of this process that it is written to. */
#ifndef SB_TESTS_FUZZ_OPEN_H
#define SB_TESTS_FUZZ_OPEN_H

#include <stdint.h>

#include "core/acquisition.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* The format of the registry that this target is for (-DFUZZ_FORMAT="npy"). */
const SbFormat *fuzz_format (void);
/* A folder of this process alone, empty at its first call; goes away when the process ends as it should. */
const char *fuzz_folder (void);
/* n bytes as a file of that folder, with zeros behind them up to least bytes. FALSE: there is no room. */
gboolean fuzz_write (const char *name, const uint8_t *data, size_t n, size_t least);
/* Removes all files of the folder. */
void fuzz_clear (void);
/* Asks the format for its file, opens, describes and reads it: by the reader itself, whatever the rules of
 * the scan would say, and (as_program) as any program does, which asks all formats. Aborts where an error is
 * missing or one too many, and where the places of frames (SbFormat.chunks) hold other frames than read()
 * delivers. */
void fuzz_open (const SbFormat *format, const char *path, const SbAcquisitionOptions *options, gboolean as_program);

#endif
