// SPDX-License-Identifier: Apache-2.0
//
// The command line of the programs that measure: `PROGRAM MODE [--option [value]] ...`.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
  ARGUMENTS_HELP = 1,  ///< help was asked for, and printed
  ARGUMENTS_USAGE = 3, ///< the command line is wrong: a line says so
};

/// Texts of an option that may be given several times.
struct argument_texts {
  const char **items; ///< of argv
  int count;          ///< how many
  int room;           ///< of `items`
};

/// An option and where it goes: one of the last four.
struct argument_place {
  const char *name;             ///< without the dashes
  double min;                   ///< smallest number
  double max;                   ///< largest number
  double *number;               ///< a number
  const char **text;            ///< a text
  struct argument_texts *texts; ///< a text, several times
  bool *flag;                   ///< nothing follows
};

/// A word that says what to do.
struct argument_mode {
  const char *name; ///< the word
  int mode;         ///< what it stands for
};

/// What a program takes.
struct argument_rules {
  const char *program;                 ///< its name, for messages
  const char *help;                    ///< all that --help prints
  const struct argument_mode *modes;   ///< for the first argument
  size_t mode_count;                   ///< of them
  const struct argument_place *places; ///< for the others
  size_t place_count;                  ///< of them
};

/// Says that the command line is wrong. @param format  with one %s, for `what` @return ARGUMENTS_USAGE
int arguments_refuse(const char *program, const char *format, const char *what);

/// Reads the command line.
///
/// @param[out] mode  what the first argument stands for
/// @param rest       in: NULL; gets an argument that is no option. NULL: there must be none
/// @return 0, ARGUMENTS_HELP, ARGUMENTS_USAGE
int arguments_parse(const struct argument_rules *rules, int argc, char **argv, int *mode, const char **rest);
