// SPDX-License-Identifier: Apache-2.0
//
// A broker in this process: builds everything from the options in order, and takes it apart in the opposite order. Both
// calls belong to one thread (main), which serves nothing itself.
#pragma once

struct broker;
struct broker_options;

/// Starts a broker: when this returns, clients are served. What it listens on and advertises is logged.
///
/// @param options  borrowed until broker_stop()
/// @param[out] broker  owned: broker_stop()
/// @return 0, or a negative ERR_*; error_last() has one line for the user, and nothing is left running
int broker_start(const struct broker_options *options, struct broker **broker);

/// Reads the configuration again and puts it in force (reload.h), for SIGHUP: what it did is in the log. Any thread
/// between start and stop; does not wait.
void broker_reload(struct broker *broker);

/// Stops cleanly: no new connections, requests in flight answered, logs flushed, checkpoints and markers written.
///
/// @param broker  taken
/// @return 0, or the first error of closing the logs (the next start recovers them)
int broker_stop(struct broker *broker);
