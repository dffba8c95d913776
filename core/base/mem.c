// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

static void *mem_sure(void *block, size_t size)
{
  if (block == NULL) {
    fprintf(stderr, "luka: out of memory (%zu bytes)\n", size);
    abort();
  }
  return block;
}

void *mem_alloc(size_t size)
{
  return mem_sure(malloc(size > 0 ? size : 1), size);
}

void *mem_zalloc(size_t size)
{
  return mem_sure(calloc(1, size > 0 ? size : 1), size);
}

void *mem_array(size_t count, size_t item_size)
{
  return mem_sure(calloc(count > 0 ? count : 1, item_size), count);
}

void *mem_realloc(void *block, size_t size)
{
  return mem_sure(realloc(block, size > 0 ? size : 1), size);
}

char *mem_strdup(const char *text)
{
  return mem_dup(text, strlen(text) + 1);
}

void *mem_dup(const void *bytes, size_t size)
{
  void *copy = mem_alloc(size);
  if (size > 0) {
    memcpy(copy, bytes, size);
  }
  return copy;
}

char *mem_printf(const char *format, ...)
{
  va_list args;
  va_start(args, format);
  char *text = NULL;
  int length = vasprintf(&text, format, args);
  va_end(args);
  CHECK(length >= 0);
  return text;
}

void mem_free(void *block)
{
  free(block);
}
