// SPDX-License-Identifier: Apache-2.0
#include "broker/reload_report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/slog.h"
#include "controller/controller.h"
#include "controller/static_topics.h"
#include "lua/config.h"
#include "lua/script.h"
#include "metadata/config_edit.h"

void reload_report_fail(struct reload_report *report, const char *format, ...)
{
  if (report->error != NULL) {
    return;
  }
  char text[ERROR_MESSAGE_SIZE + LUA_STATE_TEXT_SIZE];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  report->error = arena_printf(&report->arena, "%s", text);
}

static const char *report_copy(struct reload_report *report, const char *text)
{
  return text == NULL ? NULL : arena_printf(&report->arena, "%s", text);
}

/// Adds an item; texts are copied.
static void report_add(struct reload_report *report, enum reload_outcome outcome, const char *what, const char *before,
                       const char *after)
{
  if (report->count == report->room) {
    int room = report->room * 2 + 16;
    struct reload_item *items = arena_alloc(&report->arena, (size_t)room * sizeof *items);
    if (report->count > 0) {
      memcpy(items, report->items, (size_t)report->count * sizeof *items);
    }
    report->items = items;
    report->room = room;
  }
  report->items[report->count++] =
      (struct reload_item){outcome, report_copy(report, what), report_copy(report, before), report_copy(report, after)};
}

void reload_report_applied(struct reload_report *report, const char *what, const char *after)
{
  report_add(report, RELOAD_APPLIED, what, NULL, after);
}

// ---- the broker's own keys ----

/// Adds a key that was put in force, if it differs.
static void report_applied(struct reload_report *report, const char *what, int64_t before, int64_t after)
{
  if (before != after) {
    report_add(report, RELOAD_APPLIED, what, arena_printf(&report->arena, "%lld", (long long)before),
               arena_printf(&report->arena, "%lld", (long long)after));
  }
}

/// Adds a key that needs a restart, if its texts differ; NULL: it has no value.
static void report_text(struct reload_report *report, const char *what, const char *before, const char *after)
{
  bool is_same = before == NULL || after == NULL ? before == after : strcmp(before, after) == 0;
  if (!is_same) {
    report_add(report, RELOAD_RESTART, what, before, after);
  }
}

/// How many threads there are, in words where nobody said it.
static const char *report_threads(struct reload_report *report, int count, const char *unset)
{
  return count > 0 ? arena_printf(&report->arena, "%d", count) : unset;
}

static void report_number(struct reload_report *report, const char *what, int64_t before, int64_t after)
{
  if (before != after) {
    report_add(report, RELOAD_RESTART, what, arena_printf(&report->arena, "%lld", (long long)before),
               arena_printf(&report->arena, "%lld", (long long)after));
  }
}

/// The texts of a list with commas between; NULL for none.
static const char *report_join(struct reload_report *report, const char *const *texts, int count)
{
  const char *joined = NULL;
  for (int i = 0; i < count; i++) {
    joined = arena_printf(&report->arena, "%s%s%s", i > 0 ? joined : "", i > 0 ? ", " : "", texts[i]);
  }
  return joined;
}

void reload_report_keys(struct reload_report *report, const struct lua_config *start, const struct lua_config *running,
                        const struct lua_config *wanted, bool has_log_level)
{
  static const char *const levels[] = {"error", "warn", "info", "debug"};
  int level_before = running->log_level >= 0 ? running->log_level : SLOG_INFO;
  int level_after = wanted->log_level >= 0 ? wanted->log_level : SLOG_INFO;
  if (level_before != level_after && !has_log_level) {
    report_add(report, RELOAD_APPLIED, "broker.log_level", levels[level_before], levels[level_after]);
  }
  report_applied(report, "broker.log_dir_reserve_bytes", running->log_dir_reserve_bytes, wanted->log_dir_reserve_bytes);
  report_applied(report, "broker.lua_memory", running->lua_memory_bytes, wanted->lua_memory_bytes);
  report_applied(report, "broker.lua_budget_ms", running->lua_budget_ms, wanted->lua_budget_ms);
  report_applied(report, "broker.lua_shared_memory", running->lua_shared_memory_bytes, wanted->lua_shared_memory_bytes);
  if (running->is_unsafe != wanted->is_unsafe) {
    report_add(report, RELOAD_APPLIED, "broker.unsafe", running->is_unsafe ? "true" : "false",
               wanted->is_unsafe ? "true" : "false");
  }
  report_number(report, "broker.id", start->id, wanted->id);
  report_text(report, "broker.listen", report_join(report, start->listen, start->listen_count),
              report_join(report, wanted->listen, wanted->listen_count));
  report_text(report, "broker.advertise", report_join(report, start->advertise, start->advertise_count),
              report_join(report, wanted->advertise, wanted->advertise_count));
  report_text(report, "broker.data", report_join(report, start->data, start->data_count),
              report_join(report, wanted->data, wanted->data_count));
  report_text(report, "broker.metadata", start->metadata, wanted->metadata);
  report_text(report, "broker.console", start->console, wanted->console);
  report_text(report, "broker.workers", report_threads(report, start->workers, "one per core"),
              report_threads(report, wanted->workers, "one per core"));
  report_text(report, "broker.lua_threads", report_threads(report, start->lua_threads, "as workers, leaving a core"),
              report_threads(report, wanted->lua_threads, "as workers, leaving a core"));
}

// ---- Kafka's configs ----

/// What a client has set in place of a config's static value, itself or in other units that win over it; NULL: nothing.
static const char *report_client_text(const struct broker_config *config, enum broker_config_index index)
{
  enum broker_config_index synonyms[BROKER_CONFIG_SYNONYMS_MAX];
  int count = broker_config_synonyms(index, synonyms);
  for (int i = 0; i < count; i++) {
    for (int layer = 0; layer < BROKER_LAYER_STATIC; layer++) {
      const char *text = config->layers[layer][synonyms[i]];
      if (text != NULL) {
        return text;
      }
    }
    if (synonyms[i] == index) {
      break;
    }
  }
  return NULL;
}

/// A static text as it is shown: what it was set to, or the default.
static const char *report_shown(struct reload_report *report, enum broker_config_index index, const char *text)
{
  const struct config_def *def = &broker_config_defs()[index];
  text = text != NULL ? text : def->default_text;
  return text != NULL ? config_shown_text(&report->arena, def, text) : NULL;
}

/// A config that has no value as long as it is not set gets one from another config: of a topic default, that.
static const char *report_derived(const struct lua_config *config, enum broker_config_index index, const char *text)
{
  for (int i = 0; text == NULL && i < TOPIC_CONFIG_COUNT; i++) {
    const char *name = topic_config_defs()[i].broker_name;
    text = name != NULL && strcmp(name, broker_config_defs()[index].name) == 0 ? config->broker.topic.text[i] : NULL;
  }
  return text;
}

static void report_config(struct reload_report *report, enum broker_config_index index, const char *path,
                          const char *before, const char *after, const struct broker_config *in_force)
{
  char key[128];
  if (path == NULL) {
    size_t length = (size_t)snprintf(key, sizeof key, "broker.%s", broker_config_defs()[index].name);
    for (size_t i = strlen("broker."); i < length; i++) {
      key[i] = key[i] == '.' ? '_' : key[i];
    }
    path = key;
  }
  if (!broker_config_is_reloadable(index)) {
    report_add(report, RELOAD_RESTART, path, before, after);
    return;
  }
  const char *client = report_client_text(in_force, index);
  if (client != NULL) {
    after = arena_printf(&report->arena, "%s, but a client has set %s", after != NULL ? after : "none", client);
  }
  report_add(report, client != NULL ? RELOAD_KEPT : RELOAD_APPLIED, path, before, after);
}

void reload_report_configs(struct reload_report *report, const struct broker_config *before,
                           const struct broker_config *after, const struct lua_config *running,
                           const struct lua_config *wanted)
{
  for (int i = 0; i < BROKER_CONFIG_COUNT; i++) {
    enum broker_config_index index = (enum broker_config_index)i;
    const char *old_text = report_shown(report, index, before->layers[BROKER_LAYER_STATIC][i]);
    const char *new_text = report_shown(report, index, wanted->broker.layers[BROKER_LAYER_STATIC][i]);
    bool is_same = old_text == NULL || new_text == NULL ? old_text == new_text : strcmp(old_text, new_text) == 0;
    if (!is_same) {
      const char *path = wanted->paths[i] != NULL ? wanted->paths[i] : running->paths[i];
      report_config(report, index, path, report_derived(running, index, old_text),
                    report_derived(wanted, index, new_text), after);
    }
  }
}

// ---- topics ----

static const char *report_plural(int count)
{
  return count == 1 ? "" : "s";
}

/// A config of a topic as it is in the file: topic "x".retention_ms.
static const char *report_topic_key(struct reload_report *report, const char *topic, const char *config)
{
  char *key = arena_printf(&report->arena, "topic \"%s\".%s", topic, config);
  for (char *at = key + strlen(key) - strlen(config); *at != '\0'; at++) {
    *at = *at == '.' ? '_' : *at;
  }
  return key;
}

static void report_topic(struct reload_report *report, const char *name, const struct controller_block *block)
{
  struct arena *arena = &report->arena;
  const char *what = arena_printf(arena, "topic \"%s\"", name);
  if (block->outcome == CONTROLLER_BLOCK_GONE) {
    report_add(report, RELOAD_KEPT, what, NULL, "deleted, and stays so until its block changes");
  } else if (block->outcome == CONTROLLER_BLOCK_CREATED) {
    report_add(report, RELOAD_APPLIED, what, NULL,
               arena_printf(arena, "created with %d partition%s", block->partitions, report_plural(block->partitions)));
  }
  if (block->outcome != CONTROLLER_BLOCK_CHANGED) {
    return;
  }
  if (block->partitions != block->partitions_before) {
    report_add(report, RELOAD_APPLIED, arena_printf(arena, "%s.partitions", what),
               arena_printf(arena, "%d", block->partitions_before), arena_printf(arena, "%d", block->partitions));
  }
  for (int i = 0; i < block->set_count; i++) {
    const struct static_topic_change *change = &block->changes[i];
    report_add(report, RELOAD_APPLIED, report_topic_key(report, name, change->name), change->before, change->after);
  }
}

/// Says what a block no longer sets: its topic keeps it.
static void report_unset(struct reload_report *report, const struct lua_config_topic *before,
                         const struct lua_config_topic *after)
{
  for (int i = 0; i < before->config_count; i++) {
    const char *name = before->configs[i].name;
    int at = 0;
    while (at < after->config_count && strcmp(after->configs[at].name, name) != 0) {
      at++;
    }
    if (at == after->config_count) {
      report_add(report, RELOAD_KEPT, report_topic_key(report, before->name, name), before->configs[i].value,
                 "no longer in its block, and the topic keeps what it has");
    }
  }
}

static int report_by_name(const void *left, const void *right)
{
  const struct lua_config_topic *const *a = left;
  const struct lua_config_topic *const *b = right;
  return strcmp((*a)->name, (*b)->name);
}

/// Says what blocks are gone, and what those that are there no longer set. Sorted first: there may be many.
static void report_dropped(struct reload_report *report, const struct lua_config *running,
                           const struct lua_config *wanted, const struct controller_block *blocks)
{
  size_t count = (size_t)wanted->topic_count;
  const struct lua_config_topic **sorted = arena_alloc(&report->arena, (count + 1) * sizeof *sorted);
  for (size_t i = 0; i < count; i++) {
    sorted[i] = &wanted->topics[i];
  }
  qsort(sorted, count, sizeof *sorted, report_by_name);
  for (int i = 0; i < running->topic_count; i++) {
    const struct lua_config_topic *topic = &running->topics[i];
    const struct lua_config_topic **found = bsearch(&topic, sorted, count, sizeof *sorted, report_by_name);
    if (found == NULL) {
      report_add(report, RELOAD_KEPT, arena_printf(&report->arena, "topic \"%s\"", topic->name), NULL,
                 "its block is gone, which deletes no topic");
    } else if (blocks[*found - wanted->topics].outcome == CONTROLLER_BLOCK_CHANGED) {
      report_unset(report, topic, *found);
    }
  }
}

void reload_report_topics(struct reload_report *report, const struct lua_config *running,
                          const struct lua_config *wanted, const struct controller_block *blocks)
{
  for (int i = 0; i < wanted->topic_count; i++) {
    report_topic(report, wanted->topics[i].name, &blocks[i]);
  }
  report_dropped(report, running, wanted, blocks);
}

// ---- what others see ----

void reload_report_order(struct reload_report *report)
{
  struct reload_item *items = arena_alloc(&report->arena, (size_t)(report->count + 1) * sizeof *items);
  int count = 0;
  for (int outcome = RELOAD_APPLIED; outcome <= RELOAD_KEPT; outcome++) {
    for (int i = 0; i < report->count; i++) {
      if (report->items[i].outcome == (enum reload_outcome)outcome) {
        items[count++] = report->items[i];
      }
    }
  }
  report->items = items;
  report->room = count;
}

char *reload_report_json(struct reload_report *report)
{
  static const char *const outcomes[] = {"applied", "needs restart", "kept"};
  static const char *const names[] = {"outcome", "what", "old", "new"};
  enum { COLUMNS = sizeof names / sizeof names[0] };
  const char **values = arena_alloc(&report->arena, (size_t)(report->count + 1) * COLUMNS * sizeof *values);
  for (int i = 0; i < report->count; i++) {
    const struct reload_item *item = &report->items[i];
    const char *row[COLUMNS] = {outcomes[item->outcome], item->what, item->before, item->after};
    memcpy(&values[(size_t)i * COLUMNS], row, sizeof row);
  }
  return script_json_rows(names, COLUMNS, values, report->count);
}

void reload_report_log(const struct reload_report *report, const char *file)
{
  const char *from = file != NULL ? file : "--set";
  if (report->error != NULL) {
    slog_error("reload refused, nothing has changed: %s", report->error);
    return;
  }
  int counts[RELOAD_KEPT + 1] = {0};
  for (int i = 0; i < report->count; i++) {
    const struct reload_item *item = &report->items[i];
    counts[item->outcome]++;
    const char *before = item->before != NULL ? item->before : "none";
    const char *after = item->after != NULL ? item->after : "none";
    switch (item->outcome) {
      case RELOAD_APPLIED:
        slog_info("reload of %s: applied %s: %s%s%s", from, item->what, item->before != NULL ? before : "",
                  item->before != NULL ? " -> " : "", after);
        break;
      case RELOAD_RESTART:
        slog_warn("reload of %s: needs a restart: %s: %s -> %s", from, item->what, before, after);
        break;
      case RELOAD_KEPT:
        slog_info("reload of %s: kept %s: %s", from, item->what, after);
        break;
    }
  }
  if (report->count == 0) {
    slog_info("reload of %s: nothing has changed", from);
  } else {
    slog_info("reload of %s: %d applied, %d need%s a restart, %d kept", from, counts[RELOAD_APPLIED],
              counts[RELOAD_RESTART], counts[RELOAD_RESTART] == 1 ? "s" : "", counts[RELOAD_KEPT]);
  }
}

void reload_report_destroy(struct reload_report *report)
{
  arena_destroy(&report->arena);
  *report = (struct reload_report){0};
}
