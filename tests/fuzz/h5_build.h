/* Parts of HDF5 files, put as they are meant or, by the bytes of a fuzzer, oddly. HDF5 itself writes them, so
 * that what is read is sound HDF5 of unsound content. */
#ifndef SB_TESTS_FUZZ_H5_BUILD_H
#define SB_TESTS_FUZZ_H5_BUILD_H

#include <stdint.h>

#include "core/h5io.h"

/* What the fuzzer gave, byte by byte; zeros behind its end. */
typedef struct Bytes {
  const uint8_t *at;
  size_t left;
} Bytes;
guint bytes_next (Bytes *bytes);

typedef enum PartKind { IN_FILE, GROUP, NUMBER, TEXT, TEXTS, VECTOR, MAP, FRAMES, VIRTUAL, LINK } PartKind;

/* One part: an attribute `name` of the object at path, or (name NULL) the object itself. */
typedef struct Part {
  PartKind kind;
  const char *path, *name;
  double value;     /* NUMBER, VECTOR (step), MAP */
  const char *text; /* TEXT, TEXTS ("a|b"), LINK and IN_FILE (a file; LINK: of path `name`), VIRTUAL (the dataset) */
  int n[3];         /* VECTOR: length; FRAMES, VIRTUAL: lengths before those of a frame; VIRTUAL: files in n[2] */
} Part;

/* How a part is odd; 0: not at all. */
enum { ODD_ABSENT = 1, ODD_VALUE = 2, ODD_TYPE = 4, ODD_SHAPE = 8, ODD_LAYOUT = 16, ODD_LINK = 32, ODD_TWICE = 64 };

enum { FRAME_ROWS = 6, FRAME_COLS = 5 };

/* Texts that readers look for, and some that they do not expect. */
const char *odd_text (Bytes *bytes);
double odd_number (Bytes *bytes);

/* Puts the part (of any kind but IN_FILE) into file; what HDF5 refuses is left out. */
void part_put (hid_t file, const Part *part, guint odd, Bytes *bytes);
/* FRAMES and VIRTUAL. */
void frames_put (hid_t file, const Part *part, guint odd, Bytes *bytes);
hid_t odd_type (Bytes *bytes);
hid_t deep_links (void);

#endif
