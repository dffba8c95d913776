// SPDX-License-Identifier: Apache-2.0
//
// Changes of config texts: lists that get or lose values (KIP-339), and texts as answers show them. Pure; texts go into
// an arena.
#pragma once

#include "metadata/config.h"

struct arena;

/// Whether values can be added to a config and taken off it.
bool config_is_list(const struct config_def *def);

/// Adds the values of a list to another, as IncrementalAlterConfigs does: those that are there already are not added
/// again, nor are empty ones kept that were there.
///
/// @param list    comma-separated, NULL: empty
/// @param values  comma-separated
/// @return the new list; in the arena
const char *config_list_append(struct arena *arena, const char *list, const char *values);

/// Takes the values of a list off another, each once; values that are not there are passed over. As above.
const char *config_list_subtract(struct arena *arena, const char *list, const char *values);

/// A valid text as Kafka shows it once it is read: without blanks, numbers as numbers are written.
///
/// @return in the arena, or `text` where it is the same
const char *config_shown_text(struct arena *arena, const struct config_def *def, const char *text);
