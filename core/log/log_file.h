// SPDX-License-Identifier: Apache-2.0
//
// The open descriptor of a segment file, with the mapping of its offset index. Shared: a region handed to a connection
// holds a reference, so neither deletion nor truncation nor eviction disturbs its reader.
//
// Files open lazily and count against one budget for the whole process; beyond it the ones that were not used lately
// and are held by nobody are closed.
#pragma once

struct log_file;

/// The descriptor, open as long as the reference is held. Any thread.
int log_file_fd(const struct log_file *file);

/// Takes another reference, and gives one back. Any thread.
struct log_file *log_file_ref(struct log_file *file);
void log_file_unref(struct log_file *file);

/// Sets how many segment files may stay open (default 512, at least 1). Any thread.
void log_file_set_budget(int files);

/// Number of segment files open now. Any thread.
int log_file_open_count(void);
