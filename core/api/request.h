// SPDX-License-Identifier: Apache-2.0
//
// A request between its frame and its answer. Dispatch makes it and decodes its body; a handler answers at once or
// keeps it until what it waits for has happened, always on the worker of its connection. Memory of a request lies in
// its arena and goes with it.
//
//   frame -> dispatch -> handler(req) ... request_respond(req, &response) -> connection
//
// A handler that lets a request wait sets `cancel`: when the connection closes, that is called, and must end the wait
// and answer (the answer is dropped). Work under way on other threads is left to finish, and then answers as usual.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/list.h"
#include "wire/types.h"

struct api;
struct api_client;
struct api_handler;
struct api_worker;
struct authorize;
struct frame;
struct request;
struct request_region;
struct response_region;
struct wire_api;

enum {
  REQUEST_GROUP_BYTES_MAX = 256 << 20, ///< bytes allocated for answers about groups; what is named beyond has an error
  REQUEST_PARTITIONS_MAX = 100000,     ///< most partitions, or topics, that one request may name; beyond, it is refused
};

typedef void (*request_fn)(struct request *req);

struct request {
  struct arena arena;                ///< memory that goes with the request
  struct api *api;                   ///< what handlers work with
  struct api_worker *worker;         ///< the worker it belongs to
  struct api_client *client;         ///< its connection's state; NULL once the connection has closed
  struct frame *frame;               ///< owned until answered
  const struct wire_api *wire;       ///< codec of its api key
  const struct api_handler *handler; ///< who serves it
  int16_t version;                   ///< api version
  int32_t correlation_id;            ///< returned in the answer
  struct wire_string client_id;      ///< borrowed from the frame, may be null
  void *body;                        ///< the decoded request, struct wire_*_request
  void *state;                       ///< the handler's, in the arena
  struct authorize *authorize;       ///< what it may do, in the arena; NULL: everything
  struct request_region *regions;    ///< given back if the answer is not sent, in the arena; newest first
  bool is_traced;                    ///< its answer is shown, too (api/probe.h)
  request_fn cancel;                 ///< called when the connection closes while it waits; NULL: nothing to end
  struct list link;                  ///< in the client's list of unanswered requests
  _Atomic(int64_t) group_room;       ///< bytes left for answers about groups; other threads count it down
};

/// Encodes and sends the answer, then frees the request. On the worker's thread.
///
/// Regions of records made with request_region() belong to the response from now on; they are given back when it cannot
/// be sent.
///
/// @param response  struct wire_*_response, borrowed during the call
void request_respond(struct request *req, const void *response);

/// Ends a request that has no answer (Produce with acks=0).
void request_respond_nothing(struct request *req);

/// Sends an answer that is encoded already, then frees the request.
///
/// @param bytes       its body, without the header; borrowed during the call
/// @param error_code  the first error in it, for counts
void request_respond_bytes(struct request *req, const uint8_t *bytes, size_t size, int16_t error_code);

/// Closes the connection instead of answering, as somebody wants it.
void request_close(struct request *req);

/// Closes the connection instead of answering, as Kafka does where there is no error response; logs one line.
///
/// @param why  what was wrong with the request
void request_refuse(struct request *req, const char *why);

/// Registers a region of records, which is taken: it goes out with the answer, or is given back with the request when
/// there is none. Every region must be in the answer.
///
/// @param region  copied
/// @return for wire_records.region; borrowed until the request is answered
void *request_region(struct request *req, const struct response_region *region);

/// Tests how much a request names before memory is made for each of it; refuses it beyond REQUEST_PARTITIONS_MAX.
///
/// @param count  partitions or topics
/// @return false when the request is refused, and gone
bool request_check_count(struct request *req, int64_t count);

/// Zeroed memory of the request for `count` items.
void *request_array(struct request *req, int32_t count, size_t item_size);

/// A string of the request as a NUL-terminated copy in its arena; NULL for null.
char *request_string(struct request *req, struct wire_string text);
