// SPDX-License-Identifier: Apache-2.0
//
// Which names a topic may have. Pure functions; any thread. Names come from the wire as bytes with a length.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { TOPIC_NAME_MAX = 249, TOPIC_NAME_MESSAGE_SIZE = 1024 };

/// Checks a name.
///
/// @param message  Kafka's sentence on failure, TOPIC_NAME_MESSAGE_SIZE bytes (a very long name is shown cut), or NULL
/// @return 0, ERR_INVALID
int topic_name_validate(const char *name, size_t length, char *message);

/// Whether two names differ only in '.' and '_', which metrics names cannot tell apart.
bool topic_name_collides(const char *a, const char *b);

/// Whether a name has '.' or '_' at all, that is whether it can collide.
bool topic_name_may_collide(const char *name);

/// Topics that belong to the broker: __consumer_offsets, __transaction_state, __share_group_state.
bool topic_name_is_internal(const char *name);

/// __cluster_metadata, which nobody may create.
bool topic_name_is_cluster_metadata(const char *name);
