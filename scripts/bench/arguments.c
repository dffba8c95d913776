// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int arguments_refuse(const char *program, const char *format, const char *what)
{
  fprintf(stderr, "%s: ", program);
  fprintf(stderr, format, what);
  fprintf(stderr, " (%s --help tells more)\n", program);
  return ARGUMENTS_USAGE;
}

static int take_number(const struct argument_rules *rules, const struct argument_place *place, const char *text)
{
  char *end = NULL;
  double value = strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= place->min && value <= place->max)) {
    fprintf(stderr, "%s: --%s is a number from %.0f to %.0f, not '%s'\n", rules->program, place->name, place->min,
            place->max, text);
    return ARGUMENTS_USAGE;
  }
  *place->number = value;
  return 0;
}

/// @param text  what follows; NULL: nothing does
static int take(const struct argument_rules *rules, const struct argument_place *place, const char *text)
{
  if (place->flag != NULL) {
    *place->flag = true;
    return 0;
  }
  if (text == NULL) {
    return arguments_refuse(rules->program, "--%s needs a value", place->name);
  }
  if (place->number != NULL) {
    return take_number(rules, place, text);
  }
  if (place->text != NULL) {
    *place->text = text;
    return 0;
  }
  if (place->texts->count == place->texts->room) {
    return arguments_refuse(rules->program, "--%s comes too often", place->name);
  }
  place->texts->items[place->texts->count++] = text;
  return 0;
}

static int take_mode(const struct argument_rules *rules, const char *word, int *mode)
{
  char known[256] = "";
  size_t used = 0;
  for (size_t i = 0; i < rules->mode_count; i++) {
    if (word != NULL && strcmp(word, rules->modes[i].name) == 0) {
      *mode = rules->modes[i].mode;
      return 0;
    }
    const char *before = i == 0 ? "" : i + 1 < rules->mode_count ? ", " : " or ";
    used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", before, rules->modes[i].name);
    used = used < sizeof known ? used : sizeof known - 1;
  }
  return arguments_refuse(rules->program, "say %s first", known);
}

static const struct argument_place *find(const struct argument_rules *rules, const char *argument)
{
  for (size_t i = 0; i < rules->place_count; i++) {
    if (strncmp(argument, "--", 2) == 0 && strcmp(argument + 2, rules->places[i].name) == 0) {
      return &rules->places[i];
    }
  }
  return NULL;
}

int arguments_parse(const struct argument_rules *rules, int argc, char **argv, int *mode, const char **rest)
{
  for (int at = 1; at < argc; at++) {
    if (strcmp(argv[at], "--help") == 0 || (at == 1 && strcmp(argv[at], "help") == 0)) {
      fputs(rules->help, stdout);
      return ARGUMENTS_HELP;
    }
  }
  int stop = take_mode(rules, argv[1], mode); // argv ends with a NULL
  for (int at = 2; stop == 0 && at < argc; at++) {
    const struct argument_place *place = find(rules, argv[at]);
    if (place != NULL) {
      stop = take(rules, place, place->flag != NULL ? NULL : argv[at + 1]);
      at += place->flag == NULL;
    } else if (rest != NULL && *rest == NULL && argv[at][0] != '-') {
      *rest = argv[at];
    } else {
      return arguments_refuse(rules->program, "what is '%s'?", argv[at]);
    }
  }
  return stop;
}
