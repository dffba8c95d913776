// SPDX-License-Identifier: Apache-2.0
//
// Folders and names in them. Any thread that may wait for a disk (not a worker), except where said.
#pragma once

#include <stdbool.h>
#include <stdint.h>

/// Makes a folder with its parents; fine when it exists.
int dir_make(const char *path);

/// Makes a folder whose parent is there; ERR_EXISTS when anything has its name.
int dir_make_new(const char *path);

/// Calls `each` for every name in a folder but "." and ".."; a non-zero result ends the walk and is returned.
int dir_list(const char *path, int (*each)(void *arg, const char *name, bool is_dir), void *arg);

/// fsync of a folder, so that names made or renamed in it survive a power cut. As file_sync(): ERR_IO when it fails,
/// whatever the cause; what open(2) of the folder says otherwise.
int dir_sync(const char *path);

int dir_rename(const char *from, const char *to);
int dir_remove_file(const char *path);

/// Removes a folder and everything below it; missing is fine. Does not follow symbolic links.
int dir_remove_all(const char *path);

bool dir_exists(const char *path);

/// Free and total bytes of the file system of `path`.
int dir_space(const char *path, int64_t *free_bytes, int64_t *total_bytes);
