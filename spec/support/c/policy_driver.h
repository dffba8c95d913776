// SPDX-License-Identifier: Apache-2.0
//
// Drives runners for their specs, with a control loop and one that jobs are answered on. Policies are those of
// policy_probe.h; FFI cannot be called back on other threads, so what happens there is C, and specs look at the
// figures.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct policy_driver;
struct policy_set;

enum { POLICY_DRIVER_JOBS = 4096 }; ///< jobs of a driver's life, at most

/// What became of one job.
struct driver_job {
  int64_t generation; ///< of the set that it met; -1: it did not run; 0: there was none
  int32_t done;       ///< how many jobs were done before it, plus one; 0: it is not done
  int32_t result;     ///< of the call; ERR_SCRIPT with a text in `text`
  int32_t began;      ///< how many jobs had begun before it on any runner, plus one
  bool is_abandoned;  ///< it was
  bool has_returned;  ///< and came back
  bool is_misplaced;  ///< `done` ran elsewhere than on the loop asked for
  bool had_vm;        ///< there was a VM
  char text[512];     ///< of a failure
};

/// @param runners  how many
struct policy_driver *policy_driver_new(int runners);

/// Stops the runners, which waits for jobs but not for lost ones; then the loops, and frees all but what those have.
void policy_driver_delete(struct policy_driver *driver);

/// Has calls that are under way given up from now on.
void policy_driver_hurry(struct policy_driver *driver);

/// Puts a set in force (taken; NULL: none).
void policy_driver_reload(struct policy_driver *driver, const struct policy_set *set);

/// Submits a job that calls what a topic has, for `records` records. @return its number; read it after it is done
int policy_driver_submit(struct policy_driver *driver, const char *topic, int32_t partition, int32_t records);

/// The same for a job without a loop; with the slow runner.
int policy_driver_submit_slow(struct policy_driver *driver);

const struct driver_job *policy_driver_job(struct policy_driver *driver, int number);

/// Jobs that are done, and those that came back after they were abandoned.
int policy_driver_done(struct policy_driver *driver);
int policy_driver_returned(struct policy_driver *driver);

/// Threads that have not come back.
int policy_driver_lost(struct policy_driver *driver);

/// Whether policies are needed as far as topics without any can see, and whether the watch runs.
bool policy_driver_is_needed(struct policy_driver *driver);
bool policy_driver_is_watching(struct policy_driver *driver);
