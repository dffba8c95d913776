// SPDX-License-Identifier: Apache-2.0
//
// Writes down what a broker does to its files, so that a spec can make a folder as a power failure would have left it
// (spec/support/power.lua). The calls come from the wrappers in faults.c.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/// True where a spec asked for it (LUKA_POWER names the file that is written, LUKA_POWER_FOLDER what it is about).
int power_is_on(void);

/// After a write that came through. @param done  bytes written
void power_write(int fd, const struct iovec *parts, int count, off_t pos, ssize_t done);
/// Before an fsync, and after one that was successful. @param token  what power_sync_begin() returned
int64_t power_sync_begin(int fd);
void power_sync_end(int fd, int64_t token);
/// After the others, when they were successful.
void power_truncate(int fd, off_t size);
void power_open(int fd, const char *path, int flags);
void power_rename(const char *from, const char *to);
void power_unlink(const char *path);
void power_mkdir(const char *path);
