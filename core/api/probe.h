// SPDX-License-Identifier: Apache-2.0
//
// Requests that users' functions look at (policy/probes.h), on the workers: dispatch offers each request while anybody
// looks, and one that functions are asked about waits here until they have decided, or the time is over. Its connection
// takes up no other meanwhile, so the order of requests stays as it is.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct api_worker;
struct probe_watch;
struct request;

/// Shows a decoded request to who traces its client, and asks functions about it. The worker's thread.
///
/// @param body  where the body begins in the frame, bytes
/// @return true: the request is taken, and handled or answered later
bool probe_request(struct request *req, const struct probe_watch *watch, int32_t body);

/// Shows what came of a traced request, just before it is answered.
///
/// @param size        bytes of the answer; -1: there is none
/// @param error_code  the first error in it
/// @param is_closed   the connection is closed
void probe_answered(struct request *req, int64_t size, int16_t error_code, bool is_closed);

/// The server drains: what is only delayed goes on now, what would never be answered has its connection closed.
void probe_drain(struct api_worker *worker);
