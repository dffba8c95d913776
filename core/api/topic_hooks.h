// SPDX-License-Identifier: Apache-2.0
//
// Hooks that are asked before topics change: topic.create, topic.delete, topic.config, partitions.create; and the
// function `placement`. Between a handler that has read its request and the controller, which gets what functions made
// of it: changed, or with entries that are refused already.
//
//   handler -> topic_hooks_create(change, req) -> ask, one topic after another -> controller_create_topics()
//
// What functions are asked about is one topic at a time, so that a request with thousands of topics fills no line. Once
// one of them was not answered in time, the rest of the request is refused unasked.
#pragma once

struct request;
struct topic_change;

/// Gives `change->create` to the controller, after the hooks were asked. On the worker. @param req  who asks, looked at
/// during the call alone
void topic_hooks_create(struct topic_change *change, const struct request *req);

/// The same for `change->drop`.
void topic_hooks_delete(struct topic_change *change, const struct request *req);

/// The same for `change->grow`.
void topic_hooks_grow(struct topic_change *change, const struct request *req);

/// Asks about the topics in `change->alter`, then calls config_change_send().
void topic_hooks_alter(struct topic_change *change, const struct request *req);
