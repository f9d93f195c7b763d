/* The XML header of an EMPAD acquisition. */
#ifndef SB_CORE_FORMATS_EMPAD_XML_H
#define SB_CORE_FORMATS_EMPAD_XML_H

#include <glib.h>

typedef struct SbEmpadXml {
  char *raw;         /* name of the raw file, without its folder; NULL: none */
  gboolean series;   /* images without a scan */
  gint64 count;      /* of a series; 0: not said */
  gint64 pix[2];     /* rows, cols of old versions; 0: not said */
  gint64 acquire[2]; /* of the acquire mode */
  gint64 search[2];  /* of the search mode */
  double scan_size;  /* of the acquire mode, part of the full field; NAN */
  double field;      /* full field of view, m; NAN */
  double voltage;    /* V; NAN */
} SbEmpadXml;

/* FALSE with an error: not XML, or not of an EMPAD. */
gboolean empad_xml_read (const char *path, SbEmpadXml *xml, GError **error);
void empad_xml_clear (SbEmpadXml *xml);
/* The rows and columns that the name of a raw file tells ("scan_x64_y128.raw"); FALSE: it tells none. */
gboolean empad_name_shape (const char *raw, gint64 shape[2]);

#endif
