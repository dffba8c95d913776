// SPDX-License-Identifier: Apache-2.0
//
// Heap memory that cannot fail: running out of memory aborts with one line. For sizes that a client chose, check the
// limit first, then allocate.
#pragma once

#include <stddef.h>

/// Allocates `size` bytes, zeroed (mem_zalloc) or not; never NULL. Owned: mem_free().
void *mem_alloc(size_t size);
void *mem_zalloc(size_t size);

/// Allocates an array of `count` zeroed items; aborts if the product overflows. Owned: mem_free().
void *mem_array(size_t count, size_t item_size);

/// Resizes a block from mem_alloc(); never NULL.
void *mem_realloc(void *block, size_t size);

/// Copies a string or `size` bytes. Owned: mem_free().
char *mem_strdup(const char *text);
void *mem_dup(const void *bytes, size_t size);

/// A formatted string. Owned: mem_free().
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// Frees a block of any of the above; NULL is fine.
void mem_free(void *block);
