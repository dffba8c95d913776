// SPDX-License-Identifier: Apache-2.0
//
// Making and freeing requests: for dispatch only.
#pragma once

struct api_client;
struct api_worker;
struct frame;
struct request;

/// A request for a frame, in the client's list; the frame is taken.
struct request *request_new(struct api_worker *worker, struct api_client *client, struct frame *frame);

/// Counts the times of what was answered since the last call. The worker, at the end of its turn.
void request_count_latency(struct api_worker *worker);

/// Frees an answered request, or keeps it for reuse.
void request_free(struct request *req);
