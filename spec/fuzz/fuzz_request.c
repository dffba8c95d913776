// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: bytes from a client as a request, and bytes from another broker as a response. The first byte picks
// which (even, odd). A request is a frame as it comes from a socket: api key, version, correlation id and the rest of
// its header, body; a response is api key, version and body, as the header of a response does not say what follows.
//
// What can be read can be written again in the same version, in no more bytes (a writer leaves out what a reader skips:
// unknown tagged fields, tagged fields at their default, long-winded varints). Read and written once more, those bytes
// do not change.
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/error.h"
#include "base/mem.h"
#include "wire/apis.h"
#include "wire/codec.h"
#include "wire/header.h"
#include "wire/reader.h"
#include "wire/writer.h"

enum {
  FUZZ_KEY_BYTES = 4,        // api key and version
  FUZZ_ARENA_RATIO = 2048,   // memory that a byte of a message may cost
  FUZZ_ARENA_BASE = 1 << 16, // and what any message may
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/// Reads a message from the front of `bytes`.
///
/// @param[out] used  bytes that the message took
/// @return the message, in the arena, or NULL
static void *read_message(const struct wire_codec *codec, int16_t version, const uint8_t *bytes, size_t size,
                          struct arena *arena, size_t *used)
{
  struct wire_reader r;
  wire_reader_init(&r, bytes, size);
  void *message = arena_alloc(arena, codec->size);
  codec->init(message);
  int result = codec->read(message, &r, version, arena);
  CHECK(arena->total <= FUZZ_ARENA_BASE + size * FUZZ_ARENA_RATIO);
  if (result != 0) {
    CHECK(result == ERR_UNSUPPORTED_VERSION || result == ERR_TRUNCATED || result == ERR_MALFORMED ||
          result == ERR_LIMIT);
    CHECK((result == ERR_UNSUPPORTED_VERSION) == (version < codec->min_version || version > codec->max_version));
    return NULL;
  }
  *used = size - wire_reader_left(&r);
  return message;
}

/// Reads, writes, reads and writes.
///
/// @return bytes that the message took, -1 when it is none
static int64_t round_trip(const struct wire_codec *codec, int16_t version, const uint8_t *bytes, size_t size)
{
  struct arena arena = {0};
  struct wire_writer first = {0};
  struct wire_writer second = {0};
  size_t used = 0;
  size_t used_again = 0;
  const void *message = read_message(codec, version, bytes, size, &arena, &used);
  if (message != NULL) {
    CHECK(codec->write(message, &first, version) == 0);
    CHECK(first.size <= used && first.splice_count == 0);
    arena_reset(&arena);
    const void *again = read_message(codec, version, first.data, first.size, &arena, &used_again);
    CHECK(again != NULL && used_again == first.size);
    CHECK(codec->write(again, &second, version) == 0);
    CHECK(second.size == first.size && (first.size == 0 || memcmp(first.data, second.data, first.size) == 0));
  }
  wire_writer_destroy(&second);
  wire_writer_destroy(&first);
  arena_destroy(&arena);
  return message == NULL ? -1 : (int64_t)used;
}

static void fuzz_frame(const uint8_t *bytes, size_t size)
{
  int16_t key = (int16_t)bytes_get_u16(bytes);
  int16_t version = (int16_t)bytes_get_u16(bytes + 2);
  const struct wire_api *api = wire_api_find(key);
  int64_t used = round_trip(&wire_request_header_codec, wire_request_header_version(key, version), bytes, size);
  if (api != NULL && used >= 0) {
    round_trip(api->request, version, bytes + used, size - (size_t)used);
  }
}

static void fuzz_response(const uint8_t *bytes, size_t size)
{
  const struct wire_api *api = wire_api_find((int16_t)bytes_get_u16(bytes));
  if (api != NULL) {
    int16_t version = (int16_t)bytes_get_u16(bytes + 2);
    round_trip(api->response, version, bytes + FUZZ_KEY_BYTES, size - FUZZ_KEY_BYTES);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size < 1 + FUZZ_KEY_BYTES) {
    return 0;
  }
  uint8_t choice = *data++;
  size--;
  uint8_t *bytes = mem_alloc(size); // of exactly the size, so that reads behind it are seen
  memcpy(bytes, data, size);
  if (choice % 2 == 0) {
    fuzz_frame(bytes, size);
  } else {
    fuzz_response(bytes, size);
  }
  mem_free(bytes);
  return 0;
}
