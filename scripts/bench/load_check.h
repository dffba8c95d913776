// SPDX-License-Identifier: Apache-2.0
//
// `load check FILE`: reads the topic and looks for every record that `produce --verify-acked FILE` saw acknowledged.
#pragma once

struct load_cluster;
struct load_options;

/// Prints one line of JSON.
///
/// @return 0: all is there and in order; 1: not so; or ERR_* with error_last()
int load_check(const struct load_options *options, const struct load_cluster *cluster);
