// SPDX-License-Identifier: Apache-2.0
//
// Files by descriptor: each call retries EINTR and short transfers, records the failure with the path it was given, and
// returns an ERR_*. Any thread. Every call that can fail on a sick disk passes an error-injection point (os/errinj.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct iovec;

enum file_flags {
  FILE_READ = 0,
  FILE_WRITE = 1,     ///< read and write
  FILE_CREATE = 2,    ///< create when missing, mode 0644
  FILE_EXCLUSIVE = 4, ///< with FILE_CREATE: ERR_EXISTS when it is there
  FILE_TRUNCATE = 8,
};

/// Opens a file (close-on-exec). The descriptor is owned: file_close().
///
/// @param[out] fd  the descriptor
/// @return 0, ERR_NOT_FOUND, ERR_EXISTS, ERR_NO_FILES, ERR_PERMISSION, ERR_IO ...
int file_open(const char *path, int flags, int *fd);

/// Closes; a negative descriptor is fine. Errors of close(2) are recorded and returned, the descriptor is gone anyway.
int file_close(int fd);

/// Reads exactly `size` bytes at `pos`; ERR_TRUNCATED when the file ends before.
int file_read_at(int fd, void *buffer, size_t size, int64_t pos);

/// Reads up to `size` bytes at `pos`; `got` is less only at the end of the file.
int file_read_some_at(int fd, void *buffer, size_t size, int64_t pos, size_t *got);

/// Writes all bytes at `pos`. On failure an unknown part has been written.
int file_write_at(int fd, const void *bytes, size_t size, int64_t pos);

/// Writes all of `count` buffers at `pos` with as few pwritev(2) as the kernel allows; `parts` is used up.
int file_write_vector_at(int fd, struct iovec *parts, int count, int64_t pos);

/// Reads what is in the page cache, with one preadv2(RWF_NOWAIT): `got` may be less than asked for anywhere, and 0 at
/// the end of the file. Where the file system does not support that, it reads as file_read_some_at() does.
///
/// @return 0, ERR_AGAIN when the first byte is not in the page cache, ERR_IO ...
int file_read_cached_at(int fd, void *buffer, size_t size, int64_t pos, size_t *got);

/// True when the first `size` bytes at `pos` are in the page cache; never waits for the disk (preadv2 RWF_NOWAIT).
/// Where the file system does not support that, it says true.
bool file_is_cached(int fd, int64_t pos, size_t size);

/// Brings a region into the page cache; waits for the disk, so only on the pool.
int file_load(int fd, int64_t pos, size_t size);

/// fsync. What it was to bring to disk may be lost once it has failed, and trying again does not tell: so any failure
/// is ERR_IO, a failure of the disk, also one that says that the disk is full.
int file_sync(int fd);

/// fdatasync; fails as file_sync() does.
int file_sync_data(int fd);

/// The same as file_sync() for a file by its name.
int file_sync_path(const char *path);

/// Has the kernel begin to write a region to the disk, without waiting for that; where the disk is busy it waits until
/// the disk takes more, so only on the pool. A hint: nothing fails, and no failure of the disk is taken from the
/// file_sync() that has to tell of it.
void file_start_write_back(int fd, int64_t pos, int64_t size);

/// Has the kernel drop what it keeps of a file from a position on and has written, so that the next read shows what the
/// disk has. What is not written yet stays. A hint: nothing fails.
void file_drop_cache(int fd, int64_t pos);

int file_truncate(int fd, int64_t size);
int file_size(int fd, int64_t *size);

/// Gives a file the time of another one's last change.
int file_copy_modified(int from_fd, int to_fd);

/// Reserves blocks without changing the visible size; ERR_NO_SPACE; unsupported file systems are no error.
int file_reserve(int fd, int64_t pos, int64_t size);

/// Gives back the blocks that were reserved beyond a file's end, `size`; the time of its last change stays.
int file_unreserve(int fd, int64_t size);

/// Takes an exclusive lock of the open file (fcntl F_OFD_SETLK) without waiting; ERR_BUSY when another process has it.
/// Released by file_close().
int file_lock(int fd);

/// Reads a whole small file (NUL-terminated, owned: mem_free); ERR_LIMIT when larger than `limit` bytes.
int file_read_all(const char *path, size_t limit, char **text, size_t *size);

/// Replaces a file as a whole: writes `<path>.tmp`, fsync, rename, fsync of the folder. Waits for the disk: pool or
/// start-up.
int file_replace(const char *path, const void *bytes, size_t size);
