// SPDX-License-Identifier: Apache-2.0
//
// What offset and time indexes have in common: files of entries of one size that are only ever written with pwrite, at
// the place of the entry. The descriptor is opened for each write: entries are written many at a time, and so an index
// costs no descriptor while it rests. Called by the appender, at start-up and on the pool; every call waits for the
// disk.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Writes entries from entry number `first` on, creating the file when it is missing.
int index_file_write(const char *path, size_t entry_size, uint32_t first, const void *entries, uint32_t count);

/// Reads entries; ERR_TRUNCATED when the file ends before.
int index_file_read(const char *path, size_t entry_size, uint32_t first, void *entries, uint32_t count);

/// Cuts the file to `count` entries, or creates it; does nothing when it has that size already.
int index_file_trim(const char *path, size_t entry_size, uint32_t count);

/// Overwrites entries `first` to `end` - 1 with zeros.
int index_file_zero(const char *path, size_t entry_size, uint32_t first, uint32_t end);

/// fsync; a missing file is no error.
int index_file_sync(const char *path);
