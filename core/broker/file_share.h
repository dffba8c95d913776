// SPDX-License-Identifier: Apache-2.0
//
// How many open files of which kind the broker may have. Called at the start, by the main thread.
#pragma once

struct broker_config;

/// Shares out the descriptors that the process may have: a quarter, or all but 8192 where that is more, up to 32768,
/// for segment files that stay open (they are closed and opened again as they are needed, and one in use is never
/// closed), most of the rest for connections.
///
/// @return the most connections that there may be at a time, whatever max.connections says
int file_share(const struct broker_config *config, int workers);
