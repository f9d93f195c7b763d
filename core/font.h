/* A small bitmap font for the labels of pictures: 5 x 7 pixels and two rows for descenders. */
#ifndef SB_CORE_FONT_H
#define SB_CORE_FONT_H

#include <glib.h>

enum { FONT_COLS = 5, FONT_ROWS = 9, FONT_BASELINE = 7, FONT_ADVANCE = 6 };

/* The FONT_ROWS rows of a character, bit 4 the left column; a question mark for one that is not drawn. */
const guint8 *font_glyph (gunichar code);

#endif
