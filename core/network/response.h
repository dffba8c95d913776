// SPDX-License-Identifier: Apache-2.0
//
// A response: a chain of memory and file regions, sent in order as one frame. core/api builds it, a connection sends
// memory with sendmsg and regions with sendfile, so that records go from the page cache to the socket uncopied. The
// layers below (log) are not known here: a region is a descriptor, a place in it and a way to give it back.
//
// The first four bytes of the first memory part are the frame's length; response_finish() fills them in.
// One thread at a time; given to a connection it belongs to that connection's worker, which calls every `release`.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  RESPONSE_ROOM_BYTES = 512,     ///< an answer up to this size needs no memory but its response
  RESPONSE_POOL_RESPONSES = 256, ///< what a pool keeps for reuse
};

struct response;
struct wire_writer;

/// Responses to use again, so that a small answer allocates nothing. Embed it; zero-initialised is an empty one. One
/// per worker, only on its thread.
struct response_pool {
  struct response *free; ///< idle ones
  int free_count;        ///< how many
};

typedef void (*response_release_fn)(void *arg);

/// Bytes of a file, or of memory that is sent uncopied. They must not change until `release` is called.
struct response_region {
  const uint8_t *bytes;        ///< memory, borrowed until `release`; NULL: of the file
  int fd;                      ///< descriptor, borrowed until `release`; not used for memory
  int64_t pos;                 ///< byte position of the first byte in the file, >= 0
  int64_t length;              ///< bytes, >= 0
  response_release_fn release; ///< called once when sent or dropped, on the worker's thread; or NULL
  void *arg;                   ///< for `release`
};

/// An empty response from a pool, with room for a small answer, lent to a writer. Owned: response_delete(), or taken by
/// connection_respond(), on the pool's thread.
///
/// @param w  an empty one; it gives the room back by response_take_writer(), or before response_delete()
struct response *response_begin(struct response_pool *pool, struct wire_writer *w);

/// Frees what a pool keeps; none of its responses is in use any more.
void response_pool_destroy(struct response_pool *pool);

/// An empty response. Owned: response_delete(), or taken by connection_respond().
struct response *response_new(void);

/// Drops a response that will not be sent: releases all of its parts. NULL is fine.
void response_delete(struct response *resp);

/// Appends memory.
///
/// @param bytes    taken until `release(arg)` is called; with `release` NULL borrowed for ever
/// @param release  how to give it back (mem_free and `bytes` for an owned buffer), or NULL
void response_add_memory(struct response *resp, const void *bytes, size_t size, response_release_fn release, void *arg);

/// Appends a region; the struct is copied, what it holds is taken. A region of length 0 is released at once.
void response_add_region(struct response *resp, const struct response_region *region);

/// Writes the frame's length into the first four bytes of the first memory part, which holds at least those.
///
/// @return 0, ERR_LIMIT when the frame would be longer than 2^31 - 1 bytes (the response is still the caller's)
int response_finish(struct response *resp);

/// Turns what a writer holds into a finished response: its one buffer, cut where regions go, and the regions; nothing
/// is copied. The output starts with four bytes of any value, the place of the frame's length. Each `region` of the
/// writer's splices is a `struct response_region` whose length is the splice's; it is copied, so it may lie in the
/// request's arena.
///
/// @param resp  an empty one: that of response_begin() that lent the writer its room, or a new one
/// @param w     emptied on success (still to be destroyed, or used again); on failure untouched, and the regions are
///              still the caller's
/// @return 0, the writer's error, ERR_LIMIT; on failure `resp` is empty, and still the caller's
int response_take_writer(struct response *resp, struct wire_writer *w);

/// Bytes of the whole frame, its length field included.
int64_t response_size(const struct response *resp);
