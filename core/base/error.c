// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local struct error_detail error_latest;

int error_from_errno(int err)
{
  switch (err) {
    case ENOENT:
      return ERR_NOT_FOUND;
    case EEXIST:
      return ERR_EXISTS;
    case EAGAIN:
      return ERR_AGAIN;
    case ENOMEM:
      return ERR_NOMEM;
    case EINVAL:
      return ERR_INVALID;
    case ENOSPC:
    case EDQUOT:
      return ERR_NO_SPACE;
    case EROFS:
      return ERR_READ_ONLY;
    case EACCES:
    case EPERM:
      return ERR_PERMISSION;
    case EBUSY:
    case EADDRINUSE:
      return ERR_BUSY;
    case EMFILE:
    case ENFILE:
      return ERR_NO_FILES;
    case ENOTEMPTY:
      return ERR_NOT_EMPTY;
    case ECONNRESET:
    case EPIPE:
      return ERR_CLOSED;
    case ETIMEDOUT:
      return ERR_TIMEOUT;
    default:
      return ERR_IO;
  }
}

const char *error_name(int code)
{
  switch (code) {
#define ERR_X(name, number, text) \
  case number:                    \
    return #name;
#include "base/errors_list.h"
#undef ERR_X
    default:
      return "no error";
  }
}

const char *error_text(int code)
{
  switch (code) {
#define ERR_X(name, number, text) \
  case number:                    \
    return text;
#include "base/errors_list.h"
#undef ERR_X
    default:
      return "no error";
  }
}

const struct error_detail *error_last(void)
{
  return &error_latest;
}

int error_record(int code, int os_errno, const char *file, int line, const char *format, ...)
{
  struct error_detail *detail = &error_latest;
  detail->code = code;
  detail->os_errno = os_errno;
  detail->file = file;
  detail->line = line;
  va_list args;
  va_start(args, format);
  int written = vsnprintf(detail->message, sizeof detail->message, format, args);
  va_end(args);
  if (os_errno != 0 && written >= 0 && (size_t)written < sizeof detail->message) {
    snprintf(detail->message + written, sizeof detail->message - (size_t)written, ": %s", strerror(os_errno));
  }
  return code;
}
