// SPDX-License-Identifier: Apache-2.0
#include "broker/adoption.h"

#include <inttypes.h>

#include "base/epoch.h"
#include "base/error.h"
#include "base/slog.h"
#include "log/log_manager.h"
#include "metadata/metastore.h"

int adoption_survey(struct adoption *adoption, struct log_manager *logs, const struct broker_config *config)
{
  epoch_enter();
  int result = log_manager_survey(logs);
  epoch_leave();
  TRY(result);
  size_t count = 0;
  const struct log_found *found = log_manager_found(logs, &count);
  struct controller_found *taken = arena_alloc(&adoption->arena, (count + 1) * sizeof *taken);
  struct controller_adoption *out = &adoption->found;
  *out = (struct controller_adoption){
      .found = taken, .producer_id = -1, .offsets_partitions = config->offsets_topic_num_partitions};
  for (size_t i = 0; i < count; i++) {
    if (!found[i].is_log) {
      continue;
    }
    taken[out->count++] = (struct controller_found){
        .topic = found[i].topic,
        .partition = found[i].partition,
        .topic_id = found[i].topic_id,
        .leader_epoch = found[i].leader_epoch,
        .dir = found[i].dir,
    };
    out->producer_id = found[i].producer_id > out->producer_id ? found[i].producer_id : out->producer_id;
  }
  adoption->is_surveyed = true;
  return controller_check_adoption(out);
}

int adoption_decide(struct metastore *store, const struct log_identity *identity, bool is_asked, bool *is_adopting)
{
  struct metastore_op ops[] = {
      {.kind = METASTORE_GET, .path = "/cluster/id"},
      {.kind = METASTORE_GET, .path = CONTROLLER_ADOPTION_PATH},
  };
  struct metastore_request request = {.ops = ops, .op_count = 2};
  int result = metastore_call(store, &request);
  if (result < 0) {
    error_set(result, "%s", request.message ? request.message : error_text(result));
  } else {
    bool is_new = ops[0].result == ERR_NOT_FOUND;
    bool is_under_way = ops[1].result == 0;
    *is_adopting = is_asked || is_under_way || (is_new && identity->is_foreign);
    if (is_under_way) {
      slog_info("going on with the adoption of the data directories");
    }
  }
  metastore_request_clear(&request);
  return result;
}

void adoption_destroy(struct adoption *adoption)
{
  arena_destroy(&adoption->arena);
}
