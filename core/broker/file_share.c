// SPDX-License-Identifier: Apache-2.0
#include "broker/file_share.h"

#include <stdint.h>

#include "base/error.h"
#include "base/slog.h"
#include "log/log_file.h"
#include "metadata/broker_config.h"
#include "os/limits.h"

enum {
  FILE_SHARE_UNKNOWN = 1024,    // descriptors, when the system does not tell the limit
  FILE_SHARE_OTHER = 128,       // for what is neither a connection nor a segment: listeners, locks, indexes, metastore
  FILE_SHARE_WORKER = 4,        // for each worker's loop
  FILE_SHARE_SEGMENTS_MIN = 64, // segment files that may stay open
  FILE_SHARE_SEGMENTS_MAX = 32768, // each also maps its index, and Linux allows 65530 mappings
  FILE_SHARE_ENOUGH = 8192,        // descriptors for all else, where there are many
  FILE_SHARE_CONNECTIONS_MIN = 16,
  FILE_SHARE_LOW = 1024, // limit on open files that is worth a warning
};

int file_share(const struct broker_config *config, int workers)
{
  uint64_t before = 0;
  uint64_t limit = FILE_SHARE_UNKNOWN;
  if (limits_raise_files(&before, &limit) < 0) {
    slog_warn("%s", error_last()->message);
  }
  int files = limit < INT32_MAX ? (int)limit : INT32_MAX;
  // A partition that is written to has a file open: what is beyond the needs of many connections goes to segments, so
  // that a broker with thousands of busy partitions does not open and close files all the time.
  int segments = files / 4 > files - FILE_SHARE_ENOUGH ? files / 4 : files - FILE_SHARE_ENOUGH;
  segments = segments < FILE_SHARE_SEGMENTS_MIN   ? FILE_SHARE_SEGMENTS_MIN
             : segments > FILE_SHARE_SEGMENTS_MAX ? FILE_SHARE_SEGMENTS_MAX
                                                  : segments;
  int connections = files - segments - FILE_SHARE_OTHER - FILE_SHARE_WORKER * workers;
  connections = connections < FILE_SHARE_CONNECTIONS_MIN ? FILE_SHARE_CONNECTIONS_MIN : connections;
  log_file_set_budget(segments);
  if (files < FILE_SHARE_LOW) {
    slog_warn("the limit on open files is only %d: %d connections and %d open segments at a time; raise it (ulimit -n)",
              files, connections, segments);
  }
  if (config->max_connections > connections && broker_config_is_set(config, BROKER_CONFIG_max_connections)) {
    slog_warn("max_connections is %d, but the limit on open files (%d) allows %d", config->max_connections, files,
              connections);
  }
  return connections;
}
