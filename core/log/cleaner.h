// SPDX-License-Identifier: Apache-2.0
//
// The log cleaner as the manager runs it: makes, starts, ends. What it does is in log_clean.h, how it goes about it in
// cleaner_private.h.
#pragma once

struct cleaner;
struct log_cleaner_config;
struct log_manager;

/// Makes a cleaner that does nothing yet. Owned: cleaner_delete().
struct cleaner *cleaner_new(struct log_manager *mgr, const struct log_cleaner_config *config);

/// Takes over other settings; starts threads that are wanted now. Control loop.
void cleaner_configure(struct cleaner *cleaner, const struct log_cleaner_config *config);

/// Starts the threads. Control loop.
void cleaner_run(struct cleaner *cleaner);

/// Has the threads end soon; does not wait for it. Control loop.
void cleaner_pause(struct cleaner *cleaner);

/// Waits for the threads' end. Start-up thread, outside the epoch.
void cleaner_join(struct cleaner *cleaner);

/// Frees it, with no thread left. Start-up thread. @param cleaner  taken; NULL is fine
void cleaner_delete(struct cleaner *cleaner);
