// SPDX-License-Identifier: Apache-2.0
#include "broker/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "lua/config.h"
#include "metadata/image.h"
#include "policy/policy.h"

int options_create(const struct lua_config *config, struct broker_options *options)
{
  struct broker_options made = {
      .id = config->id,
      .is_id_set = config->is_id_set,
      .listen = config->listen,
      .listen_count = config->listen_count,
      .advertise = config->advertise,
      .advertise_count = config->advertise_count,
      .data = config->data,
      .data_count = config->data_count,
      .workers = config->workers,
      .log_dir_reserve_bytes = config->log_dir_reserve_bytes,
      .config = config,
  };
  TRY(options_real_path(config->metadata, &made.metadata));
  *options = made;
  return 0;
}

void options_destroy(struct broker_options *options)
{
  mem_free(options->metadata);
  options->metadata = NULL;
}

const struct static_topic *options_topics(const struct lua_config *config, struct arena *arena)
{
  struct static_topic *topics = arena_alloc(arena, (size_t)(config->topic_count + 1) * sizeof *topics);
  for (int i = 0; i < config->topic_count; i++) {
    const struct lua_config_topic *block = &config->topics[i];
    topics[i] = (struct static_topic){
        .name = block->name,
        .partitions = block->partitions,
        .replication_factor = block->replication_factor,
        .configs = block->configs,
        .config_count = block->config_count,
        .text = block->text,
        .place = arena_printf(arena, "%s:%d", block->source, block->line),
    };
  }
  return topics;
}

const struct topic_view *options_views(const struct lua_config *config, struct arena *arena, int32_t *count)
{
  const struct policy_set *set = config->policies;
  *count = set != NULL ? set->view_count : 0;
  struct topic_view *views = arena_alloc(arena, (size_t)(*count + 1) * sizeof *views);
  for (int32_t i = 0; i < *count; i++) {
    const struct policy_view *view = &set->views[i];
    views[i] = (struct topic_view){
        .name = view->name,
        .from = view->from,
        .place = arena_printf(arena, "%s:%d", view->source, view->line),
    };
  }
  return views;
}

/// Appends the components of `rest` to `path`, which has room for them, without "." and "..".
static void options_append(char *path, const char *rest)
{
  while (*rest != '\0') {
    size_t length = strcspn(rest, "/");
    if (length == 2 && rest[0] == '.' && rest[1] == '.') {
      char *slash = strrchr(path, '/');
      if (slash != NULL) {
        *slash = '\0';
      }
    } else if (length > 0 && !(length == 1 && rest[0] == '.')) {
      size_t end = strlen(path);
      path[end] = '/';
      memcpy(path + end + 1, rest, length);
      path[end + 1 + length] = '\0';
    }
    rest += length;
    rest += *rest == '/';
  }
}

int options_real_path(const char *path, char **real)
{
  char *absolute = NULL;
  if (path[0] == '/') {
    absolute = mem_strdup(path);
  } else {
    char *folder = getcwd(NULL, 0);
    if (folder == NULL) {
      return error_set_errno(errno, "cannot tell the working folder");
    }
    absolute = mem_printf("%s/%s", folder, path);
    free(folder);
  }
  // Cuts components off the end until what is left exists; the rest has no links in it.
  size_t end = strlen(absolute);
  char *existing = NULL;
  while (existing == NULL && end > 0) {
    char *prefix = mem_dup(absolute, end + 1);
    prefix[end] = '\0';
    existing = realpath(prefix, NULL);
    mem_free(prefix);
    while (existing == NULL && end > 0 && absolute[end - 1] != '/') {
      end--;
    }
    end -= existing == NULL && end > 0;
  }
  char *result = mem_printf("%s%*s", existing == NULL || strcmp(existing, "/") == 0 ? "" : existing,
                            (int)strlen(absolute) + 2, "");
  result[existing == NULL || strcmp(existing, "/") == 0 ? 0 : strlen(existing)] = '\0';
  options_append(result, absolute + end);
  if (result[0] == '\0') {
    result[0] = '/'; // the root itself
    result[1] = '\0';
  }
  free(existing);
  mem_free(absolute);
  *real = result;
  return 0;
}
