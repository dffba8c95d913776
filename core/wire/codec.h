// SPDX-License-Identifier: Apache-2.0
//
// The messages of the protocol as data: for dispatch, which reads and writes any request, for fuzzing and for specs.
// The tables are generated. A handler includes the header of its request, "wire/produce.h", and uses the typed
// functions there:
//
//   wire_x_init(m)                     sets every field to its default; of nested structs too, for array elements
//   wire_x_read(m, r, version, arena)  fills m from a reader. Strings and bytes are borrowed from the frame, arrays
//                                      from the arena. 0; ERR_UNSUPPORTED_VERSION, ERR_TRUNCATED, ERR_MALFORMED,
//                                      ERR_LIMIT: m is at its defaults. Bytes after the message are left in the reader
//   wire_x_write(m, w, version)        appends m to a writer. 0; ERR_UNSUPPORTED_VERSION: the version, or a field
//                                      that is set, not ignorable and absent from the version; ERR_INVALID: null where
//                                      the version has none; ERR_LIMIT. What a failure left is for
//                                      wire_writer_truncate()
//
// An array member `x` has `int32_t x_count` beside it, -1 for null. A nullable struct is a pointer.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct arena;
struct wire_reader;
struct wire_writer;

/// One message; the functions take the message's struct as void *.
struct wire_codec {
  const char *name;         ///< "ProduceRequest"
  size_t size;              ///< bytes of its struct
  int16_t min_version;      ///< lowest that the codec knows; dispatch has what is served
  int16_t max_version;      ///< highest
  int16_t flexible_version; ///< first flexible one (KIP-482), INT16_MAX: none
  void (*init)(void *m);    ///< wire_x_init()
  int (*read)(void *m, struct wire_reader *r, int16_t version, struct arena *arena); ///< wire_x_read()
  int (*write)(const void *m, struct wire_writer *w, int16_t version);               ///< wire_x_write()
};

/// One request and its response.
struct wire_api {
  int16_t key;                       ///< enum wire_api_key, the api key on the wire
  const char *name;                  ///< "Produce"
  int16_t min_version;               ///< of both messages
  int16_t max_version;               ///< of both messages
  int16_t flexible_version;          ///< of both messages, INT16_MAX: none
  const struct wire_codec *request;  ///< its request
  const struct wire_codec *response; ///< its response
};

/// The api of a key, or NULL. Any thread.
const struct wire_api *wire_api_find(int16_t key);

/// The version of the header in front of a request: 2 if flexible, 1 if not, 0 for ControlledShutdown version 0.
/// For a key or version that is not known: 1, which all newer headers begin like.
int16_t wire_request_header_version(int16_t key, int16_t version);

/// The version of the header in front of a response: 1 if flexible, otherwise 0; ApiVersions always has 0, so that a
/// client of any age can read it.
int16_t wire_response_header_version(int16_t key, int16_t version);
