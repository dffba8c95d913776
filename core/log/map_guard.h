// SPDX-License-Identifier: Apache-2.0
//
// Reading a file mapping without dying of SIGBUS: a page that the disk cannot deliver, or that was cut off behind our
// back, reads as zeros, and the reader is told. Used around lookups in mapped indexes, on any thread.
//
// The guard is thread-local. The signal's handler looks whether the address lies in the mapping that this thread is
// reading; if so it puts a page of zeros there and lets the load go on. Any other SIGBUS ends the process as ever.
#pragma once

#include <stdbool.h>
#include <stddef.h>

/// Announces that this thread is about to read a mapping. Guards do not nest.
void map_guard_begin(const void *map, size_t size);

/// Ends the announcement; true when a page could not be read and zeros were read in its place.
bool map_guard_end(void);
