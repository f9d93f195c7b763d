/* One pass of an acquisition's frames through a device; inside of device_load. */
#ifndef SB_CORE_DEVICE_READ_H
#define SB_CORE_DEVICE_READ_H

#include "core/gather.h"

typedef struct SbDevicePass {
  SbEngine *engine;
  SbAcquisition *acquisition;
  const SbkLoader *loader;
  SbkLoad *load;
  SbProgress *progress;
  gint64 positions;
  gsize frame_bytes;
  SbFrameChunk *chunks; /* [positions]; NULL: frames come through the reader */
  SbChunkCodec codec;
  gsize buffer_bytes;
  gint64 buffer_frames;
} SbDevicePass;

/* Where the frames lie and how large the buffers are; chunks stays NULL where the device cannot decode them. */
gboolean device_pass_plan (SbDevicePass *pass, GError **error);
void device_pass_clear (SbDevicePass *pass);
/* Scan positions 0, stride, ... once through the device; from, to: share of the stage. */
gboolean device_pass_run (SbDevicePass *pass, gint64 stride, double from, double to, GError **error);
/* Sums of what went by since the last call; an error where a frame was damaged. stride: of device_pass_run. */
gboolean device_pass_sums (SbDevicePass *pass, gint64 stride, guint64 *sum, guint32 *high, GError **error);
gboolean device_fail (SbkStatus status, const SbkError *kernel, GError **error);

#endif
