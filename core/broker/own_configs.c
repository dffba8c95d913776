// SPDX-License-Identifier: Apache-2.0
#include "broker/own_configs.h"

#include "base/mem.h"
#include "network/listener.h"
#include "network/server.h"

enum { OWN_ADVERTISED, OWN_BROKER_ID, OWN_LISTENERS, OWN_LOG_DIRS, OWN_NODE_ID };

static void own_configs_set(struct own_configs *configs, int place, const char *name, const char *value)
{
  configs->entries[place] = (struct config_entry){name, value};
}

/// Adds one to a list of texts, which is freed.
static char *own_configs_join(char *list, const char *text)
{
  char *joined = list != NULL ? mem_printf("%s,%s", list, text) : mem_strdup(text);
  mem_free(list);
  return joined;
}

void own_configs_create(struct own_configs *configs, const struct server *server, int listener_count, int32_t id,
                        const char *const *dirs, int dir_count)
{
  char *advertised = NULL;
  char *listeners = NULL;
  char *log_dirs = NULL;
  for (int i = 0; i < listener_count; i++) {
    const struct listener *listener = server_listener(server, i);
    char text[LISTENER_ADDRESS_SIZE];
    listener_format(&listener->advertised, text);
    advertised = own_configs_join(advertised, text);
    listener_format(&listener->address, text);
    listeners = own_configs_join(listeners, text);
  }
  for (int i = 0; i < dir_count; i++) {
    log_dirs = own_configs_join(log_dirs, dirs[i]);
  }
  own_configs_set(configs, OWN_ADVERTISED, "advertised.listeners", advertised);
  own_configs_set(configs, OWN_BROKER_ID, "broker.id", mem_printf("%d", id));
  own_configs_set(configs, OWN_LISTENERS, "listeners", listeners);
  own_configs_set(configs, OWN_LOG_DIRS, "log.dirs", log_dirs);
  own_configs_set(configs, OWN_NODE_ID, "node.id", mem_printf("%d", id));
}

void own_configs_destroy(struct own_configs *configs)
{
  for (int i = 0; i < OWN_CONFIGS_COUNT; i++) {
    mem_free((char *)configs->entries[i].value);
  }
  *configs = (struct own_configs){0};
}
