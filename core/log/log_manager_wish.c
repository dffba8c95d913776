// SPDX-License-Identifier: Apache-2.0
//
// Where partitions are wanted that are not there yet (KIP-113): AlterReplicaLogDirs may name the directory of a
// partition before it is made. Any thread, while holding the lock.
#include <string.h>

#include "base/mem.h"
#include "log/log_manager_private.h"

enum { WISHES_MAX = 1000 };

static size_t wish_find(const struct log_manager *mgr, const char *topic, int32_t partition)
{
  size_t at = 0;
  while (at < mgr->wish_count &&
         (mgr->wishes[at].partition != partition || strcmp(mgr->wishes[at].topic, topic) != 0)) {
    at++;
  }
  return at;
}

static void wish_remove(struct log_manager *mgr, size_t at)
{
  mem_free(mgr->wishes[at].topic);
  mgr->wish_count--;
  memmove(&mgr->wishes[at], &mgr->wishes[at + 1], (mgr->wish_count - at) * sizeof *mgr->wishes);
}

void log_manager_put_wish(struct log_manager *mgr, const char *topic, int32_t partition, struct log_dir *dir)
{
  size_t at = wish_find(mgr, topic, partition);
  if (at < mgr->wish_count) {
    mgr->wishes[at].dir = dir;
    return;
  }
  if (mgr->wish_count == WISHES_MAX) {
    wish_remove(mgr, 0);
  }
  if ((mgr->wish_count & (mgr->wish_count - 1)) == 0) {
    size_t room = mgr->wish_count == 0 ? 1 : mgr->wish_count * 2;
    mgr->wishes = mem_realloc(mgr->wishes, room * sizeof *mgr->wishes);
  }
  mgr->wishes[mgr->wish_count++] = (struct log_wish){.topic = mem_strdup(topic), .partition = partition, .dir = dir};
}

struct log_dir *log_manager_take_wish(struct log_manager *mgr, const char *topic, int32_t partition,
                                      const bool *is_tried)
{
  size_t at = wish_find(mgr, topic, partition);
  if (at == mgr->wish_count) {
    return NULL;
  }
  struct log_dir *dir = mgr->wishes[at].dir;
  wish_remove(mgr, at);
  bool is_usable = !atomic_load(&dir->is_offline) && (is_tried == NULL || !is_tried[dir - mgr->dirs]);
  return is_usable ? dir : NULL;
}

void log_wishes_destroy(struct log_manager *mgr)
{
  while (mgr->wish_count > 0) {
    wish_remove(mgr, mgr->wish_count - 1);
  }
  mem_free(mgr->wishes);
  mgr->wishes = NULL;
}
