/* Chunks: decoded counts against an encoder written here bit by bit, against files of bitshuffle's own, and
 * damage. */
#include <lz4.h>
#include <zstd.h>

#include "core/bitshuffle.h"
#include "core/chunk.h"
#include "core/h5frames.h"
#include "tests/unit/frames.h"

static void
put32 (GByteArray *to, guint32 x)
{
  const guint8 bytes[4] = { (guint8)(x >> 24), (guint8)(x >> 16), (guint8)(x >> 8), (guint8)x };
  g_byte_array_append (to, bytes, sizeof bytes);
}

static void
put_header (GByteArray *to, gsize total, gsize block)
{
  put32 (to, (guint32)((guint64)total >> 32));
  put32 (to, (guint32)total);
  put32 (to, (guint32)block);
}

/* Bitshuffle's definition: plane b of n elements holds bit b of element e at bit e % 8 of byte e / 8. */
static void
shuffle (const guint8 *in, guint8 *out, gsize n, gsize element)
{
  memset (out, 0, n * element);
  for (gsize b = 0; b < 8 * element; b++)
    for (gsize e = 0; e < n; e++)
      out[b * (n / 8) + e / 8] |= (guint8)((in[e * element + b / 8] >> (b % 8) & 1) << (e % 8));
}

static void
put_lz4 (GByteArray *to, const guint8 *bytes, gsize n, gboolean may_be_raw)
{
  g_autofree char *packed = g_malloc ((gsize)LZ4_compressBound ((int)n));
  int size = LZ4_compress_default ((const char *)bytes, packed, (int)n, LZ4_compressBound ((int)n));
  if (may_be_raw && (gsize)size >= n) {
    put32 (to, (guint32)n);
    g_byte_array_append (to, bytes, (guint)n);
    return;
  }
  put32 (to, (guint32)size);
  g_byte_array_append (to, (const guint8 *)packed, (guint)size);
}

static void
put_zstd (GByteArray *to, const guint8 *block, gsize n)
{
  gsize room = ZSTD_compressBound (n);
  g_autofree char *packed = g_malloc (room);
  gsize size = ZSTD_compress (packed, room, block, n, 3);
  g_assert_false (ZSTD_isError (size));
  put32 (to, (guint32)size);
  g_byte_array_append (to, (const guint8 *)packed, (guint)size);
}

/* A stored chunk of n elements; block in elements. */
static GByteArray *
encode (const guint8 *in, gsize n, gsize element, SbChunkFilter filter, gsize block)
{
  GByteArray *to = g_byte_array_new ();
  gsize whole = filter == SB_CHUNK_LZ4 ? n : n / 8 * 8;
  g_autofree guint8 *planes = g_malloc (MAX (block, 8) * element);
  if (filter != SB_CHUNK_BITSHUFFLE)
    put_header (to, n * element, block * element);
  for (gsize at = 0; at < whole; at += block) {
    gsize m = MIN (block, whole - at);
    if (filter == SB_CHUNK_LZ4) {
      put_lz4 (to, in + at * element, m * element, TRUE);
      continue;
    }
    shuffle (in + at * element, planes, m, element);
    if (filter == SB_CHUNK_BITSHUFFLE_LZ4)
      put_lz4 (to, planes, m * element, FALSE);
    else if (filter == SB_CHUNK_BITSHUFFLE_ZSTD)
      put_zstd (to, planes, m * element);
    else
      g_byte_array_append (to, planes, (guint)(m * element));
  }
  g_byte_array_append (to, in + whole * element, (guint)((n - whole) * element));
  return to;
}

/* Counts as detectors give them: small with a few large ones. */
static guint8 *
make_counts (gsize n, gsize element, guint32 seed)
{
  GRand *random = g_rand_new_with_seed (seed);
  guint8 *bytes = g_malloc0 (n * element + 1);
  for (gsize i = 0; i < n; i++) {
    bytes[i * element] = (guint8)g_rand_int_range (random, 0, 12);
    if (g_rand_int_range (random, 0, 40) == 0)
      for (gsize b = 0; b < element; b++)
        bytes[i * element + b] = (guint8)g_rand_int_range (random, 0, 256);
  }
  g_rand_free (random);
  return bytes;
}

static void
test_bits (void)
{
  static const gsize elements[] = { 1, 2, 4, 8, 3 };
  for (gsize n = 8; n <= 4096; n += n < 700 ? 8 : 248)
    for (guint k = 0; k < G_N_ELEMENTS (elements); k++) {
      gsize size = n * elements[k];
      g_autofree guint8 *in = make_counts (n, elements[k], (guint32)n), *planes = g_malloc (size), *fast = g_malloc (size);
      g_autofree guint8 *slow = g_malloc (size);
      shuffle (in, planes, n, elements[k]);
      bits_unshuffle (planes, fast, n, elements[k]);
      bits_unshuffle_reference (planes, slow, n, elements[k]);
      g_assert_cmpmem (fast, size, in, size);
      g_assert_cmpmem (slow, size, in, size);
    }
}

static void
test_round_trip (void)
{
  static const gsize counts[] = { 1, 7, 8, 9, 36864, 4097, 100, 480, 12345 }, blocks[] = { 8, 64, 4096, 1024, 100000 };
  static const SbChunkFilter filters[] = { SB_CHUNK_LZ4, SB_CHUNK_BITSHUFFLE, SB_CHUNK_BITSHUFFLE_LZ4,
                                           SB_CHUNK_BITSHUFFLE_ZSTD };
  for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
    for (gsize element = 1; element <= 8; element *= 2)
      for (guint b = 0; b < G_N_ELEMENTS (blocks); b++)
        for (guint f = 0; f < G_N_ELEMENTS (filters); f++) {
          gsize n = counts[i], size = n * element;
          g_autoptr (GError) error = NULL;
          g_autofree guint8 *in = make_counts (n, element, i), *out = g_malloc (size);
          g_autoptr (GByteArray) stored = encode (in, n, element, filters[f], blocks[b]);
          SbChunkCodec codec = { filters[f], element, blocks[b], FALSE };
          gboolean done = chunk_decode (&codec, 0, stored->data, stored->len, out, size, &error);
          g_assert_no_error (error);
          g_assert_true (done && stored->len <= chunk_bound (size));
          g_assert_cmpmem (out, size, in, size);
          /* Bit 0 of the filter mask: stored as it is. */
          g_assert_true (chunk_decode (&codec, 1, in, size, out, size, NULL));
          g_assert_cmpmem (out, size, in, size);
        }
}

static void
test_big_endian (void)
{
  static const guint8 in[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
  static const guint8 out2[16] = { 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15 };
  static const guint8 out4[16] = { 4, 3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9, 16, 15, 14, 13 };
  guint8 out[16];
  SbChunkCodec codec = { SB_CHUNK_NONE, 2, 0, TRUE };
  g_assert_true (chunk_decode (&codec, 0, in, 16, out, 16, NULL));
  g_assert_cmpmem (out, 16, out2, 16);
  codec.element = 4;
  g_assert_true (chunk_decode (&codec, 0, in, 16, out, 16, NULL));
  g_assert_cmpmem (out, 16, out4, 16);
}

static void
assert_damaged (const GByteArray *stored, const SbChunkCodec *codec, gsize size, const char *says)
{
  g_autoptr (GError) error = NULL;
  g_autofree guint8 *in = g_memdup2 (stored->data, stored->len), *out = g_malloc (size);
  g_assert_false (chunk_decode (codec, 0, in, stored->len, out, size, &error));
  g_assert_error (error, SB_ERROR, SB_ERROR_DATA);
  g_assert_nonnull (strstr (error->message, says));
}

static void
test_damage (void)
{
  enum { N = 1204, ELEMENT = 2, SIZE = N * ELEMENT };
  static const SbChunkFilter filters[] = { SB_CHUNK_LZ4, SB_CHUNK_BITSHUFFLE, SB_CHUNK_BITSHUFFLE_LZ4,
                                           SB_CHUNK_BITSHUFFLE_ZSTD };
  for (guint f = 0; f < G_N_ELEMENTS (filters); f++) {
    SbChunkCodec codec = { filters[f], ELEMENT, 512, FALSE };
    g_autofree guint8 *counts = make_counts (N, ELEMENT, 3), *out = g_malloc (SIZE);
    g_autoptr (GByteArray) stored = encode (counts, N, ELEMENT, filters[f], 512);
    guint whole = stored->len;
    for (stored->len = 0; stored->len < whole; stored->len++)
      assert_damaged (stored, &codec, SIZE, "");
    g_byte_array_append (stored, (const guint8 *)"", 1);
    assert_damaged (stored, &codec, SIZE, "");
    stored->len = whole;
    for (guint bit = 0; bit < 8 * whole; bit++) { /* noticed or not, never beyond the buffers */
      g_autofree guint8 *in = g_memdup2 (stored->data, whole);
      in[bit / 8] ^= (guint8)(1 << (bit % 8));
      chunk_decode (&codec, 0, in, whole, out, SIZE, NULL);
    }
  }
  SbChunkCodec codec = { SB_CHUNK_BITSHUFFLE_LZ4, ELEMENT, 512, FALSE };
  g_autofree guint8 *counts = make_counts (N, ELEMENT, 3);
  g_autoptr (GByteArray) stored = encode (counts, N, ELEMENT, SB_CHUNK_BITSHUFFLE_LZ4, 512);
  stored->data[7]++;
  assert_damaged (stored, &codec, SIZE, "where a chunk has 2408");
  stored->data[7]--;
  stored->data[11]++;
  assert_damaged (stored, &codec, SIZE, "blocks of 1025 bytes");
  stored->data[11]--;
  memset (stored->data + 12, 0x7f, 1);
  assert_damaged (stored, &codec, SIZE, "its block 0 claims 2130706");
}

/* A sound block of half as many bytes, and one of no codec. */
static void
test_short_blocks (void)
{
  static const guint8 half[] = { 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 16, 0, 0, 0, 9, 0x80, 1, 2, 3, 4, 5, 6, 7, 8 };
  static const SbChunkFilter filters[] = { SB_CHUNK_LZ4, SB_CHUNK_BITSHUFFLE_LZ4, SB_CHUNK_BITSHUFFLE_ZSTD };
  for (guint f = 0; f < G_N_ELEMENTS (filters); f++) {
    SbChunkCodec codec = { filters[f], 2, 8, FALSE };
    g_autoptr (GByteArray) stored = g_byte_array_append (g_byte_array_new (), half, sizeof half);
    assert_damaged (stored, &codec, 16, "its block 0 does not decompress to 16 bytes");
    stored->data[16] = 0xf0;
    assert_damaged (stored, &codec, 16, "its block 0 does not decompress to 16 bytes");
  }
}

static void
test_codecs (void)
{
  static const unsigned lz4[] = { 0, 4, 2, 0, 2 }, zstd[] = { 0, 4, 2, 0, 3 }, none[] = { 0, 4, 2 };
  g_autoptr (GError) error = NULL;
  SbChunkCodec codec;
  g_assert_true (chunk_codec (32008, 5, lz4, 2, FALSE, &codec, NULL));
  g_assert_cmpint (codec.filter, ==, SB_CHUNK_BITSHUFFLE_LZ4);
  g_assert_true (chunk_codec (32008, 3, none, 2, TRUE, &codec, NULL));
  g_assert_cmpint (codec.filter, ==, SB_CHUNK_BITSHUFFLE);
  g_assert_cmpuint (codec.block, ==, 4096);
  g_assert_true (chunk_codec (32004, 0, NULL, 4, FALSE, &codec, NULL));
  g_assert_cmpint (codec.filter, ==, SB_CHUNK_LZ4);
  g_assert_true (chunk_codec (32008, 5, zstd, 2, FALSE, &codec, NULL));
  g_assert_cmpint (codec.filter, ==, SB_CHUNK_BITSHUFFLE_ZSTD);
  g_assert_false (chunk_codec (32015, 0, NULL, 2, FALSE, &codec, &error));
  g_assert_nonnull (strstr (error->message, "32015"));
  g_assert_false (chunk_codec (32008, 5, lz4, 4, FALSE, &codec, NULL));
}

/* Whole one-dimensional datasets of bitshuffle's own regression files. */
static int
compare_dataset (hid_t file, const char *group, const char *name)
{
  g_autofree char *packed = g_strconcat (group, "/", name, NULL), *plain = g_strconcat ("original/", name, NULL);
  hid_t a = H5Dopen2 (file, packed, H5P_DEFAULT), b = H5Dopen2 (file, plain, H5P_DEFAULT);
  hid_t plan = H5Dget_create_plist (a), type = H5Dget_type (a), space = H5Dget_space (a);
  gsize element = H5Tget_size (type), n = (gsize)H5Sget_simple_extent_npoints (space);
  unsigned flags, values[8], config;
  size_t n_values = 8;
  hsize_t chunk, stored = 0;
  char text[2];
  SbChunkCodec codec;
  int id = (int)H5Pget_filter2 (plan, 0, &flags, &n_values, values, sizeof text, text, &config), compared = 0;
  H5Pget_chunk (plan, 1, &chunk);
  if (chunk_codec ((guint)id, n_values, values, element, FALSE, &codec, NULL)) {
    g_autofree guint8 *original = g_malloc (n * element), *out = g_malloc (chunk * element);
    g_assert_cmpint (H5Dread (b, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, original), >=, 0);
    for (hsize_t at = 0; at < n; at += chunk) {
      guint32 mask = 0;
      g_assert_cmpint (H5Dget_chunk_storage_size (a, &at, &stored), >=, 0);
      g_autofree guint8 *in = g_malloc (stored);
      g_assert_cmpint (H5Dread_chunk (a, H5P_DEFAULT, &at, &mask, in), >=, 0);
      g_assert_true (chunk_decode (&codec, mask, in, stored, out, chunk * element, NULL));
      gsize m = MIN (chunk, n - at) * element;
      g_assert_cmpmem (out, m, original + at * element, m);
    }
    compared = 1;
  }
  H5Sclose (space);
  H5Tclose (type);
  H5Pclose (plan);
  H5Dclose (a);
  H5Dclose (b);
  return compared;
}

static void
test_regression (void)
{
  static const char *const files[] = { "samples/bslz4/regression_0.1.3.h5", "samples/bslz4/regression_0.4.0.h5" };
  int compared[2] = { 0 };
  for (guint i = 0; i < G_N_ELEMENTS (files); i++) {
    g_autofree char *path = shared_path (files[i]);
    if (path == NULL)
      return;
    g_assert_true (h5io_begin (NULL));
    hid_t file = h5io_open_file (path, NULL);
    for (int z = 0; z < 2; z++) {
      static const char *const groups[] = { "/compressed", "/compressed_zstd" };
      GPtrArray *links = h5io_links (file, groups[z], "");
      for (guint k = 0; links != NULL && k < links->len; k++)
        compared[z] += compare_dataset (file, groups[z], ((SbLink *)links->pdata[k])->name);
      if (links != NULL)
        g_ptr_array_unref (links);
    }
    H5Fclose (file);
    h5io_end ();
  }
  g_test_message ("%d and %d datasets compared", compared[0], compared[1]);
  g_assert_cmpint (compared[0], >=, 20);
  g_assert_cmpint (compared[1], >=, 10);
}

static void
test_eiger (void)
{
  g_autofree char *path = shared_path ("samples/bslz4/eiger4m_1frame_uint32.h5");
  g_autoptr (GError) error = NULL;
  if (path == NULL)
    return;
  SbH5Frames *frames = h5frames_new (path, "/entry/data/data", &error);
  g_assert_no_error (error);
  g_assert_cmpint (frames->rows, ==, 2167);
  g_assert_cmpint (frames->cols, ==, 2070);
  gsize n = 2167 * 2070, at_most = 0;
  g_autofree guint32 *counts = g_malloc (4 * n);
  g_assert_true (h5frames_read (frames, 0, 1, 0, counts, &error));
  g_assert_no_error (error);
  for (gsize i = 0; i < n; i++)
    at_most += counts[i] == G_MAXUINT32;
  g_assert_cmpuint (at_most, ==, 251302);
  h5frames_free (frames);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/chunk/bits", test_bits);
  g_test_add_func ("/chunk/round-trip", test_round_trip);
  g_test_add_func ("/chunk/big-endian", test_big_endian);
  g_test_add_func ("/chunk/damage", test_damage);
  g_test_add_func ("/chunk/short-blocks", test_short_blocks);
  g_test_add_func ("/chunk/codecs", test_codecs);
  g_test_add_func ("/chunk/regression", test_regression);
  g_test_add_func ("/chunk/eiger-4m", test_eiger);
  return g_test_run ();
}
