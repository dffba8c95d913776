// SPDX-License-Identifier: Apache-2.0
//
// Runs a log manager with a control loop, a pool and hooks, for specs: its timers and jobs call hooks on other threads,
// which LuaJIT cannot serve.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct log;
struct log_cleaner_config;
struct log_manager;
struct log_manager_config;
struct log_manager_driver;
struct log_manager_intervals;

/// What the hooks saw.
struct log_manager_seen {
  int64_t appenders;    ///< appenders asked for
  int64_t failed;       ///< logs reported as failed
  int64_t failed_cause; ///< ERR_* of the last of them
  int64_t owner_sum;    ///< of the owners (small numbers) that the last round of failures named
};

/// Starts loop and pool and makes a manager from `config`, whose loop and pool are filled in.
///
/// @return 0 or the error of log_manager_new()
int log_manager_driver_new(struct log_manager_config *config, int pool_threads, struct log_manager_driver **driver);

/// The manager; borrowed.
struct log_manager *log_manager_driver_manager(struct log_manager_driver *driver);

/// The high watermark hook answers the log's end plus this; INT64_MIN: -1, unknown. The appender hook gives the same.
void log_manager_driver_set_lag(struct log_manager_driver *driver, int64_t lag);

/// The appender hook says that every partition has gone.
void log_manager_driver_set_gone(struct log_manager_driver *driver, bool is_gone);

/// Calls log_manager_run() on the loop and waits for it.
void log_manager_driver_run(struct log_manager_driver *driver);

/// Calls log_manager_set_intervals() on the loop and waits for it.
void log_manager_driver_set_intervals(struct log_manager_driver *driver, const struct log_manager_intervals *intervals);

/// Calls log_manager_configure_cleaner() on the loop and waits for it.
void log_manager_driver_configure_cleaner(struct log_manager_driver *driver, const struct log_cleaner_config *config);

void log_manager_driver_seen(struct log_manager_driver *driver, struct log_manager_seen *seen);

/// Turns of the control loop so far: what an idle manager costs.
int64_t log_manager_driver_turns(struct log_manager_driver *driver);

/// Stops the timers, and what the manager submits to the pool, ahead of log_manager_driver_stop().
void log_manager_driver_pause(struct log_manager_driver *driver);

/// The same, and has the pool finish.
void log_manager_driver_end_pool(struct log_manager_driver *driver);

/// Stops everything in order and frees it. Returns what log_manager_stop() said.
int log_manager_driver_stop(struct log_manager_driver *driver);

/// Opens the same name from several threads at once and deletes what was opened, `rounds` times; returns how often two
/// had it open at the same time or an unexpected error came.
int64_t log_manager_race_run(struct log_manager *mgr, int threads, int rounds, int64_t *opened);
