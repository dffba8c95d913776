// SPDX-License-Identifier: Apache-2.0
//
// partition.metadata, the file in each partition's folder that names its topic id, so that a folder left by a deleted
// topic is not taken for one of a new topic of the same name. Kafka's form: "version: 0" and "topic_id: <id>". Waits
// for the disk: start-up or pool.
#pragma once

#include <stdbool.h>

#include "base/uuid.h"

/// Reads the topic id of a partition's folder.
///
/// @return 0, ERR_NOT_FOUND (no such file), ERR_MALFORMED, ERR_UNSUPPORTED_VERSION, ERR_IO ...
int partition_metadata_read(const char *folder, struct uuid *topic_id);

/// True for results of partition_metadata_read() that mean: there is a file, but what it says is lost.
bool partition_metadata_is_damage(int result);

/// True when an id that was found is the wanted one, or was before a bit or two of it changed: ids are random, so that
/// two of them never differ in two bytes only.
bool partition_metadata_is_of(const struct uuid *found, const struct uuid *wanted);

/// Writes it, on disk when it returns.
int partition_metadata_write(const char *folder, const struct uuid *topic_id);

/// Writes it into a folder that was just made and that nobody else knows; not on disk yet.
int partition_metadata_begin(const char *folder, const struct uuid *topic_id);

/// Brings what partition_metadata_begin() wrote to disk; a file that is not there any more is fine.
int partition_metadata_sync(const char *folder);
