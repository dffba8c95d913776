// SPDX-License-Identifier: Apache-2.0
//
// What a response is made of, for the file that builds it and the one that sends it.
#pragma once

#include <stdbool.h>

#include "network/response.h"

enum { RESPONSE_PARTS_INLINE = 4 };

/// A piece of a response: memory, or bytes of a file.
struct response_part {
  const uint8_t *bytes;        ///< memory, or NULL: bytes of a file
  int64_t pos;                 ///< position in the file
  int64_t length;              ///< bytes of the part, at least 1
  int fd;                      ///< file, borrowed until `release`
  response_release_fn release; ///< gives it back, or NULL
  void *arg;                   ///< for `release`
};

struct response {
  struct response *next;                           ///< next to be sent on its connection
  struct response_part *parts;                     ///< in order; `own` or from the heap
  size_t part_count;                               ///< parts
  size_t part_room;                                ///< slots in `parts`
  size_t part_at;                                  ///< first part that is not sent whole
  int64_t part_done;                               ///< bytes of that part that are sent
  int64_t size;                                    ///< bytes of all parts
  int64_t memory_bytes;                            ///< bytes of those that are memory
  bool is_finished;                                ///< the length is filled in
  struct response_pool *pool;                      ///< where it goes back to; NULL: the heap
  struct response_part own[RESPONSE_PARTS_INLINE]; ///< room for the usual few
  uint8_t room[];                                  ///< of a pool's: RESPONSE_ROOM_BYTES for a small answer
};

/// Bytes of memory that a finished response takes, until it is deleted.
int64_t response_memory(const struct response *resp);

/// Counts `count` bytes of the current part as sent (at most what is left of it); gives a part back once it is whole.
void response_advance(struct response *resp, int64_t count);

/// True when all is sent.
bool response_is_sent(const struct response *resp);
