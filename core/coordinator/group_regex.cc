// SPDX-License-Identifier: Apache-2.0
//
// RE2 behind a header of C; nothing else here is C++.
#include "coordinator/group_regex.h"

#include <re2/re2.h>

struct group_regex {
  re2::RE2 expression; ///< compiled
  group_regex(const re2::StringPiece &text, const re2::RE2::Options &options) : expression(text, options)
  {
  }
};

/// The words of RE2/J, which Kafka answers.
static const char *what_is_wrong(re2::RE2::ErrorCode code)
{
  switch (code) {
    case re2::RE2::ErrorBadEscape:
      return "invalid escape sequence";
    case re2::RE2::ErrorBadCharClass:
      return "invalid character class";
    case re2::RE2::ErrorBadCharRange:
      return "invalid character class range";
    case re2::RE2::ErrorMissingBracket:
      return "missing closing ]";
    case re2::RE2::ErrorMissingParen:
      return "missing closing )";
    case re2::RE2::ErrorTrailingBackslash:
      return "trailing backslash at end of expression";
    case re2::RE2::ErrorRepeatArgument:
      return "missing argument to repetition operator";
    case re2::RE2::ErrorRepeatSize:
      return "invalid repeat count";
    case re2::RE2::ErrorRepeatOp:
      return "invalid nested repetition operator";
    case re2::RE2::ErrorBadPerlOp:
      return "invalid or unsupported Perl syntax";
    case re2::RE2::ErrorBadUTF8:
      return "invalid UTF-8";
    case re2::RE2::ErrorBadNamedCapture:
      return "invalid named capture";
    case re2::RE2::ErrorPatternTooLarge:
      return "expression too large";
    default:
      return "regexp/syntax: internal error";
  }
}

struct group_regex *group_regex_new(const char *text, int32_t length, const char **why)
{
  *why = nullptr;
  if (length < 0 || length > GROUP_REGEX_LENGTH_MAX) {
    *why = "expression too large";
    return nullptr;
  }
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(GROUP_REGEX_MEMORY_MAX);
  options.set_never_capture(true);
  struct group_regex *regex = new group_regex(re2::StringPiece(text, static_cast<size_t>(length)), options);
  if (!regex->expression.ok()) {
    *why = what_is_wrong(regex->expression.error_code());
    delete regex;
    return nullptr;
  }
  return regex;
}

void group_regex_delete(struct group_regex *regex)
{
  delete regex;
}

bool group_regex_matches(const struct group_regex *regex, const char *name, int32_t length)
{
  return re2::RE2::FullMatchN(re2::StringPiece(name, static_cast<size_t>(length)), regex->expression, nullptr, 0);
}
