// SPDX-License-Identifier: Apache-2.0
//
// The broker's own topics are made when somebody first needs them, whatever auto.create.topics.enable says.
#pragma once

struct request;

/// Has __consumer_offsets created, unless that is under way; nobody waits for it. On the request's worker.
void internal_topic_create_offsets(struct request *req);
