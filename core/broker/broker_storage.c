// SPDX-License-Identifier: Apache-2.0
//
// What lies on disks, at a start: the data directories, the metastore, and whether they belong together and to this
// broker. A mistake here would take one broker's partitions for another's, or make strays of all of them, so that
// whatever does not fit ends the start with a sentence that says what to do, before anything is written. Main thread.
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "broker/adoption.h"
#include "broker/broker_private.h"
#include "broker/options.h"
#include "log/log_manager.h"
#include "lua/config.h"
#include "metadata/metastore.h"
#include "metadata/metastore_local.h"

struct log_cleaner_config broker_storage_cleaner(const struct broker_config *config)
{
  return (struct log_cleaner_config){
      .threads = config->log_cleaner_enable ? config->log_cleaner_threads : 0,
      .dedupe_buffer_bytes = config->log_cleaner_dedupe_buffer_size,
      .load_factor = config->log_cleaner_io_buffer_load_factor,
      .io_buffer_bytes = config->log_cleaner_io_buffer_size,
      .io_bytes_per_second = config->log_cleaner_io_max_bytes_per_second,
      .backoff_ms = config->log_cleaner_backoff_ms,
  };
}

int broker_storage_open_logs(struct broker *broker)
{
  const struct broker_options *options = broker->options;
  const struct broker_config *config = &options->config->broker;
  struct log_manager_config settings = {
      .dirs = options->data,
      .dir_count = (size_t)options->data_count,
      .node_id = options->is_id_set ? options->id : -1,
      .metadata = options->metadata,
      .recovery_threads = config->num_recovery_threads_per_data_dir,
      .retention_check_ms = config->log_retention_check_interval_ms,
      .producer_expiration_ms = config->producer_id_expiration_ms,
      .flush_checkpoint_ms = config->log_flush_offset_checkpoint_interval_ms,
      .start_offset_checkpoint_ms = config->log_flush_start_offset_checkpoint_interval_ms,
      .high_watermark_checkpoint_ms = config->replica_high_watermark_checkpoint_interval_ms,
      .file_delete_delay_ms = config->log_segment_delete_delay_ms,
      .cleaner = broker_storage_cleaner(config),
      .reserve_bytes = options->log_dir_reserve_bytes,
      .loop = &broker->control,
      .pool = broker->pool,
  };
  int result = log_manager_new(&settings, &broker->logs);
  bool is_disk = result == ERR_NOT_FOUND || result == ERR_PERMISSION || result == ERR_READ_ONLY ||
                 result == ERR_NO_SPACE || result == ERR_IO || result == ERR_INVALID;
  return is_disk ? broker_add_texts(result, "broker.data: ", "") : result;
}

/// The partitions that were found, as "a-0, a-1, b-0, ...", and the directory of the first.
static const char *found_partitions(struct broker *broker, const char **dir)
{
  enum { SHOWN_MAX = 3 };
  size_t count = 0;
  const struct log_found *found = log_manager_found(broker->logs, &count);
  const char *text = "";
  for (size_t i = 0; i < count && i < SHOWN_MAX; i++) {
    text = arena_printf(&broker->arena, "%s%s%.60s-%d", text, i > 0 ? ", " : "", found[i].topic, found[i].partition);
  }
  *dir = count > 0 ? found[0].dir : broker->options->data[0];
  return count > SHOWN_MAX ? arena_printf(&broker->arena, "%s, ...", text) : text;
}

int broker_storage_check_identity(struct broker *broker)
{
  const char *path = broker->options->metadata;
  log_manager_identity(broker->logs, &broker->identity);
  bool is_id_found = !broker->options->is_id_set && broker->identity.node_id >= 0;
  broker->id = is_id_found ? broker->identity.node_id : broker->options->id;
  const char *dir = NULL;
  const char *partitions = found_partitions(broker, &dir);
  if (broker->identity.metadata != NULL && access(path, F_OK) != 0) {
    return partitions[0] == '\0'
               ? error_set(ERR_CONFIG,
                           "metadata %s is missing, but data directory %s belongs to it: restore it, or remove the "
                           "directory to start empty",
                           path, dir)
               : error_set(ERR_CONFIG,
                           "metadata %s is missing, but data directory %s belongs to it and holds partitions (%s): "
                           "restore it, or remove the directory to start empty: all records are lost",
                           path, dir, partitions);
  }
  // Looked into before anything is made: an adoption that cannot be leaves no trace.
  bool is_new = broker->identity.is_foreign && access(path, F_OK) != 0;
  return is_new || broker->options->is_adopting
             ? adoption_survey(&broker->adoption, broker->logs, &broker->options->config->broker)
             : 0;
}

int broker_storage_decide_adoption(struct broker *broker)
{
  bool is_adopting = false;
  TRY(adoption_decide(broker->store, &broker->identity, broker->options->is_adopting, &is_adopting));
  if (!is_adopting && broker->identity.is_foreign) {
    return error_set(ERR_CONFIG,
                     "data directory %s holds partitions but is not known to metadata %s: start once with --adopt to "
                     "take them up, or use another directory; nothing was changed",
                     broker->identity.foreign_dir, broker->options->metadata);
  }
  if (is_adopting && !broker->adoption.is_surveyed) {
    TRY(adoption_survey(&broker->adoption, broker->logs, &broker->options->config->broker));
  }
  broker->adoption.is_adopting = is_adopting;
  return 0;
}

int broker_storage_open_metastore(struct broker *broker)
{
  const char *path = broker->options->metadata;
  bool is_known = broker->identity.metadata != NULL;
  int result = metastore_local_open(path, !is_known, &broker->control, broker->pool, &broker->store);
  if (!is_known || (result < 0 && result != ERR_NOT_FOUND)) {
    return result;
  }
  if (result == 0) {
    struct metastore_op get = {.kind = METASTORE_GET, .path = "/cluster/id"};
    struct metastore_request request = {.ops = &get, .op_count = 1};
    result = metastore_call(broker->store, &request);
    if (result < 0) {
      error_set(result, "%s", request.message);
    } else {
      result = get.result;
    }
    metastore_request_clear(&request);
  }
  if (result == ERR_NOT_FOUND) {
    const char *dir = NULL;
    const char *partitions = found_partitions(broker, &dir);
    return error_set(ERR_CONFIG,
                     "metadata %s is empty, but data directory %s belongs to it%s%s%s: restore it, or remove the "
                     "directory to start empty%s",
                     path, dir, partitions[0] != '\0' ? " and holds partitions (" : "", partitions,
                     partitions[0] != '\0' ? ")" : "", partitions[0] != '\0' ? ": all records are lost" : "");
  }
  return result;
}
