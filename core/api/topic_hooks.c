// SPDX-License-Identifier: Apache-2.0
#include "api/topic_hooks.h"

#include <string.h>

#include "api/api.h"
#include "api/config_change.h"
#include "api/hooks.h"
#include "api/request.h"
#include "api/topic_change.h"
#include "base/error.h"
#include "controller/controller.h"
#include "metadata/broker_config.h"
#include "metadata/config.h"
#include "metadata/image.h"
#include "metadata/topic_name.h"
#include "wire/error_codes.h"

struct topic_hooks;

/// What the four kinds of changes differ in.
struct topic_hooks_kind {
  enum hook hook; ///< asked about each entry
  /// Describes entry `at`; false: there is nothing to ask about it.
  bool (*describe)(struct topic_hooks *asking, struct hook_event *event);
  /// Takes over what functions have changed.
  void (*take)(struct topic_hooks *asking, const struct hook_event *event);
  /// The same for `placement`; NULL: nothing is placed.
  bool (*describe_place)(struct topic_hooks *asking, struct hook_event *event);
  void (*take_place)(struct topic_hooks *asking, const struct hook_event *event);
  /// Refuses entry `at`.
  void (*refuse)(struct topic_hooks *asking, int16_t code, const char *message);
  /// Gives the change to the controller.
  void (*submit)(struct topic_change *change);
};

/// A change whose entries are asked about; in the arena of the change.
struct topic_hooks {
  const struct topic_hooks_kind *kind; ///< which
  struct topic_change *change;         ///< what is asked about
  struct api *api;                     ///< the worker's
  struct api_asker asker;              ///< who wants it
  bool meets_hook;                     ///< `kind->hook` is asked
  bool meets_placement;                ///< `placement` is asked
  int32_t at;                          ///< entry at hand
  int32_t count;                       ///< entries
  bool is_placing;                     ///< its hook has been asked, `placement` is next
  const char *late;                    ///< what is said of all entries after one that had no answer; NULL: none
};

static void topic_hooks_go_on(struct topic_hooks *asking);

// ---- topics to create ----

static struct controller_new_topic *create_entry(const struct topic_hooks *asking)
{
  return &asking->change->create.topics[asking->at];
}

static const struct metadata_image *topic_hooks_image(const struct topic_hooks *asking)
{
  return metadata_cache_get(asking->api->metadata);
}

/// How many partitions and replicas a topic is to have, as far as that can be told; what the controller will refuse is
/// left to it.
static void create_counts(const struct topic_hooks *asking, int32_t *partitions, int32_t *factor)
{
  const struct controller_new_topic *topic = create_entry(asking);
  const struct broker_config *config = topic_hooks_image(asking)->config;
  if (topic->assignment_count > 0) {
    *partitions = topic->assignment_count;
    *factor = topic->assignments[0].broker_count;
    return;
  }
  *partitions = topic->partitions == -1 ? config->num_partitions : topic->partitions;
  *factor = topic->replication_factor == -1 ? config->default_replication_factor : topic->replication_factor;
}

/// Not asked about: what is refused already, names with a NUL inside, which the controller refuses, and the broker's
/// own topics.
static bool create_is_not_asked(const struct topic_hooks *asking, const struct controller_new_topic *topic)
{
  return topic->is_refused || strlen(topic->name) != topic->name_length ||
         (asking->change->create.is_auto && topic_name_is_internal(topic->name));
}

static bool create_describe(struct topic_hooks *asking, struct hook_event *event)
{
  const struct controller_new_topic *topic = create_entry(asking);
  if (create_is_not_asked(asking, topic)) {
    return false;
  }
  int32_t partitions = 0;
  int32_t factor = 0;
  create_counts(asking, &partitions, &factor);
  bool is_placed = topic->assignment_count > 0;
  bool has_values = true;
  struct hook_pair *pairs = arena_zalloc(&event->arena, sizeof *pairs * (size_t)(topic->config_count + 1));
  for (int32_t i = 0; i < topic->config_count; i++) {
    pairs[i] = (struct hook_pair){topic->configs[i].name, topic->configs[i].value};
    has_values = has_values && topic->configs[i].value != NULL;
  }
  hook_add_text(event, "name", topic->name);
  hook_add_number(event, "partitions", partitions)->is_open = !is_placed;
  hook_add_number(event, "replication_factor", factor)->is_open = !is_placed;
  hook_add_map(event, "configs", pairs, topic->config_count)->is_open = has_values;
  hook_add_flag(event, "validate_only", asking->change->create.is_validate_only);
  hook_add_flag(event, "auto", asking->change->create.is_auto);
  return true;
}

/// Whether a table of configs is what a topic has already.
static bool create_is_same(const struct controller_new_topic *topic, const struct hook_field *configs)
{
  bool is_same = topic->config_count == configs->count;
  for (int32_t i = 0; i < configs->count && is_same; i++) {
    int32_t at = 0;
    while (at < topic->config_count && strcmp(topic->configs[at].name, configs->pairs[i].name) != 0) {
      at++;
    }
    is_same = at < topic->config_count && strcmp(topic->configs[at].value, configs->pairs[i].value) == 0;
  }
  return is_same;
}

static void create_take(struct topic_hooks *asking, const struct hook_event *event)
{
  struct arena *arena = &asking->change->arena;
  struct controller_new_topic *topic = create_entry(asking);
  int32_t partitions = 0;
  int32_t factor = 0;
  create_counts(asking, &partitions, &factor);
  int64_t wanted = hook_field(event, "partitions")->number;
  if (wanted != partitions) {
    topic->partitions = (int32_t)wanted;
  }
  wanted = hook_field(event, "replication_factor")->number;
  if (wanted != factor) {
    topic->replication_factor = (int16_t)(wanted > INT16_MAX || wanted < 0 ? 0 : wanted); // 0 is refused
  }
  const struct hook_field *configs = hook_field(event, "configs");
  if (!configs->is_open || create_is_same(topic, configs)) {
    return;
  }
  struct config_entry *entries = arena_alloc(arena, sizeof *entries * (size_t)(configs->count + 1));
  for (int32_t i = 0; i < configs->count; i++) {
    entries[i].name = arena_strndup(arena, configs->pairs[i].name, strlen(configs->pairs[i].name));
    entries[i].value = arena_strndup(arena, configs->pairs[i].value, strlen(configs->pairs[i].value));
  }
  topic->configs = entries;
  topic->config_count = configs->count;
}

/// Describes partitions to place.
static bool place_describe(const struct topic_hooks *asking, struct hook_event *event, const char *topic,
                           int64_t partitions, int32_t factor)
{
  const struct metadata_image *image = topic_hooks_image(asking);
  if (partitions < 1 || partitions > REQUEST_PARTITIONS_MAX || factor < 1 || factor > image->broker_count) {
    return false;
  }
  int32_t *brokers = arena_alloc(&event->arena, sizeof *brokers * (size_t)(image->broker_count + 1));
  for (int32_t i = 0; i < image->broker_count; i++) {
    brokers[i] = image->brokers[i]->id;
  }
  hook_add_text(event, "topic", topic);
  hook_add_number(event, "partitions", partitions);
  hook_add_number(event, "replicas", factor);
  hook_add_numbers(event, "brokers", brokers, image->broker_count);
  hook_add_numbers(event, "assignment", NULL, 0)->is_open = true;
  return true;
}

/// Makes an assignment of what `placement` gave: its form has been checked.
static struct controller_assignment *place_take(struct topic_hooks *asking, const struct hook_event *event,
                                                int32_t *count)
{
  struct arena *arena = &asking->change->arena;
  const struct hook_field *given = hook_field(event, "assignment");
  int32_t factor = (int32_t)hook_field(event, "replicas")->number;
  *count = given->count / factor;
  struct controller_assignment *assignments = arena_zalloc(arena, sizeof *assignments * (size_t)(*count + 1));
  for (int32_t i = 0; i < *count; i++) {
    const int32_t *brokers = given->numbers + (size_t)i * (size_t)factor;
    assignments[i].partition = i;
    assignments[i].broker_count = factor;
    assignments[i].brokers = arena_dup(arena, brokers, sizeof *brokers * (size_t)factor);
  }
  return assignments;
}

static bool create_describe_place(struct topic_hooks *asking, struct hook_event *event)
{
  const struct controller_new_topic *topic = create_entry(asking);
  int32_t partitions = 0;
  int32_t factor = 0;
  create_counts(asking, &partitions, &factor);
  return topic->assignment_count == 0 && !create_is_not_asked(asking, topic) &&
         place_describe(asking, event, topic->name, partitions, factor);
}

static void create_take_place(struct topic_hooks *asking, const struct hook_event *event)
{
  struct controller_new_topic *topic = create_entry(asking);
  topic->assignments = place_take(asking, event, &topic->assignment_count);
  topic->partitions = -1;
  topic->replication_factor = -1;
}

static void create_refuse(struct topic_hooks *asking, int16_t code, const char *message)
{
  struct controller_new_topic *topic = create_entry(asking);
  topic->is_refused = true;
  topic->error_code = code;
  topic->error_message = message;
}

static void create_submit(struct topic_change *change)
{
  controller_create_topics(change->worker->api->controller, &change->create);
}

// ---- topics to delete ----

static struct controller_old_topic *delete_entry(const struct topic_hooks *asking)
{
  return &asking->change->drop.topics[asking->at];
}

static bool delete_describe(struct topic_hooks *asking, struct hook_event *event)
{
  const struct controller_old_topic *topic = delete_entry(asking);
  const struct metadata_image *image = topic_hooks_image(asking);
  if (topic->is_refused) {
    return false;
  }
  const struct metadata_topic *found = topic->name != NULL
                                           ? metadata_image_topic(image, topic->name, topic->name_length)
                                           : metadata_image_topic_by_id(image, &topic->id);
  if (found == NULL) {
    return false;
  }
  hook_add_text(event, "name", found->name);
  hook_add_number(event, "partitions", found->partition_count);
  return true;
}

static void delete_refuse(struct topic_hooks *asking, int16_t code, const char *message)
{
  struct controller_old_topic *topic = delete_entry(asking);
  topic->is_refused = true;
  topic->error_code = code;
  topic->error_message = message;
}

static void delete_submit(struct topic_change *change)
{
  controller_delete_topics(change->worker->api->controller, &change->drop);
}

// ---- topics that get partitions ----

static struct controller_grown_topic *grow_entry(const struct topic_hooks *asking)
{
  return &asking->change->grow.topics[asking->at];
}

static const struct metadata_topic *grow_find(const struct topic_hooks *asking)
{
  const struct controller_grown_topic *topic = grow_entry(asking);
  return metadata_image_topic(topic_hooks_image(asking), topic->name, topic->name_length);
}

static bool grow_describe(struct topic_hooks *asking, struct hook_event *event)
{
  const struct controller_grown_topic *topic = grow_entry(asking);
  const struct metadata_topic *found = grow_find(asking);
  if (found == NULL || topic->is_refused) {
    return false;
  }
  hook_add_text(event, "name", found->name);
  hook_add_number(event, "partitions", topic->partitions)->is_open = topic->assignment_count < 0;
  hook_add_number(event, "before", found->partition_count);
  hook_add_flag(event, "validate_only", asking->change->grow.is_validate_only);
  return true;
}

static void grow_take(struct topic_hooks *asking, const struct hook_event *event)
{
  grow_entry(asking)->partitions = (int32_t)hook_field(event, "partitions")->number;
}

static bool grow_describe_place(struct topic_hooks *asking, struct hook_event *event)
{
  const struct controller_grown_topic *topic = grow_entry(asking);
  const struct metadata_topic *found = grow_find(asking);
  return found != NULL && !topic->is_refused && topic->assignment_count < 0 &&
         place_describe(asking, event, found->name, (int64_t)topic->partitions - found->partition_count,
                        found->partitions[0].replica_count);
}

static void grow_take_place(struct topic_hooks *asking, const struct hook_event *event)
{
  struct controller_grown_topic *topic = grow_entry(asking);
  topic->assignments = place_take(asking, event, &topic->assignment_count);
}

static void grow_refuse(struct topic_hooks *asking, int16_t code, const char *message)
{
  struct controller_grown_topic *topic = grow_entry(asking);
  topic->is_refused = true;
  topic->error_code = code;
  topic->error_message = message;
}

static void grow_submit(struct topic_change *change)
{
  controller_add_partitions(change->worker->api->controller, &change->grow);
}

// ---- configs ----

static struct controller_alter_resource *alter_entry(const struct topic_hooks *asking)
{
  return &asking->change->alter.resources[asking->at];
}

/// What is set is open to change; what is unset, appended or subtracted is shown.
static bool alter_describe(struct topic_hooks *asking, struct hook_event *event)
{
  const struct controller_alter_resource *resource = alter_entry(asking);
  if (resource->type != CONTROLLER_TOPIC || resource->error_code != WIRE_NONE || resource->is_settled ||
      strlen(resource->name) != resource->name_length) {
    return false;
  }
  static const char *const words[] = {"set", "unset", "append", "subtract"};
  struct hook_pair *sets = arena_zalloc(&event->arena, sizeof *sets * (size_t)(resource->entry_count + 1));
  struct hook_pair *others = arena_zalloc(&event->arena, sizeof *others * (size_t)(resource->entry_count + 1));
  int32_t set_count = 0;
  int32_t other_count = 0;
  for (int32_t i = 0; i < resource->entry_count; i++) {
    const struct controller_alter_entry *entry = &resource->entries[i];
    if (entry->operation == CONTROLLER_SET) {
      sets[set_count++] = (struct hook_pair){entry->name, entry->value};
    } else if (entry->operation > CONTROLLER_SET && entry->operation <= CONTROLLER_SUBTRACT) {
      const char *value = entry->value != NULL ? entry->value : "";
      others[other_count++] = (struct hook_pair){
          entry->name,
          arena_printf(&event->arena, "%s%s%s", words[entry->operation], *value != '\0' ? " " : "", value)};
    }
  }
  hook_add_text(event, "name", resource->name);
  hook_add_map(event, "configs", sets, set_count)->is_open = true;
  hook_add_map(event, "others", others, other_count);
  hook_add_flag(event, "incremental", asking->change->alter.is_incremental);
  hook_add_flag(event, "validate_only", asking->change->alter.is_validate_only);
  return true;
}

static void alter_take(struct topic_hooks *asking, const struct hook_event *event)
{
  struct arena *arena = &asking->change->arena;
  struct controller_alter_resource *resource = alter_entry(asking);
  const struct hook_field *configs = hook_field(event, "configs");
  size_t room = (size_t)configs->count + (size_t)resource->entry_count;
  struct controller_alter_entry *entries = arena_alloc(arena, sizeof *entries * (room + 1));
  int32_t count = 0;
  for (int32_t i = 0; i < resource->entry_count; i++) {
    if (resource->entries[i].operation != CONTROLLER_SET) {
      entries[count++] = resource->entries[i];
    }
  }
  int32_t others = count;
  for (int32_t i = 0; i < configs->count; i++) {
    const struct hook_pair *pair = &configs->pairs[i];
    int32_t at = 0;
    while (at < others && strcmp(entries[at].name, pair->name) != 0) {
      at++;
    }
    if (at == others) {
      entries[count++] =
          (struct controller_alter_entry){arena_strndup(arena, pair->name, strlen(pair->name)),
                                          arena_strndup(arena, pair->value, strlen(pair->value)), CONTROLLER_SET};
    }
  }
  resource->entries = entries;
  resource->entry_count = count;
}

static void alter_refuse(struct topic_hooks *asking, int16_t code, const char *message)
{
  struct controller_alter_resource *resource = alter_entry(asking);
  resource->error_code = code;
  resource->error_message = message;
}

// ---- one entry after another ----

static const struct topic_hooks_kind topic_hooks_of_create = {
    .hook = HOOK_TOPIC_CREATE,
    .describe = create_describe,
    .take = create_take,
    .describe_place = create_describe_place,
    .take_place = create_take_place,
    .refuse = create_refuse,
    .submit = create_submit,
};

static const struct topic_hooks_kind topic_hooks_of_delete = {
    .hook = HOOK_TOPIC_DELETE,
    .describe = delete_describe,
    .refuse = delete_refuse,
    .submit = delete_submit,
};

static const struct topic_hooks_kind topic_hooks_of_grow = {
    .hook = HOOK_PARTITIONS_CREATE,
    .describe = grow_describe,
    .take = grow_take,
    .describe_place = grow_describe_place,
    .take_place = grow_take_place,
    .refuse = grow_refuse,
    .submit = grow_submit,
};

static const struct topic_hooks_kind topic_hooks_of_alter = {
    .hook = HOOK_TOPIC_CONFIG,
    .describe = alter_describe,
    .take = alter_take,
    .refuse = alter_refuse,
    .submit = config_change_send,
};

/// Takes an answer; returns whether the entry goes on.
static bool topic_hooks_take(struct topic_hooks *asking, const struct hook_ask *ask)
{
  struct arena *arena = &asking->change->arena;
  bool is_placement = ask->event.hook == HOOK_PLACEMENT;
  void (*take)(struct topic_hooks *, const struct hook_event *) =
      is_placement ? asking->kind->take_place : asking->kind->take;
  if (ask->result == 0) {
    if (take != NULL) {
      take(asking, &ask->event);
    }
    return true;
  }
  if (ask->result == ERR_TIMEOUT && is_placement) {
    asking->meets_placement = false; // the classic rule holds
    return true;
  }
  const char *text = arena_strndup(arena, ask->text, strlen(ask->text));
  if (ask->result == ERR_TIMEOUT) {
    asking->late = text;
  }
  bool is_nonsense = is_placement && ask->result == ERR_SCRIPT;
  asking->kind->refuse(asking, is_nonsense ? WIRE_INVALID_REPLICA_ASSIGNMENT : WIRE_POLICY_VIOLATION, text);
  return false;
}

static void topic_hooks_answered(struct hook_ask *ask)
{
  struct topic_hooks *asking = ask->arg;
  bool goes_on = topic_hooks_take(asking, ask);
  if (ask->event.hook != HOOK_PLACEMENT && goes_on) {
    asking->is_placing = true;
  } else {
    asking->is_placing = false;
    asking->at++;
  }
  topic_hooks_go_on(asking);
}

/// Asks one question about the entry at hand, if there is one to ask.
static bool topic_hooks_ask(struct topic_hooks *asking, enum hook hook,
                            bool (*describe)(struct topic_hooks *asking, struct hook_event *event))
{
  struct hook_ask *ask = hooks_ask_new(asking->api->hooks, hook, topic_hooks_answered, asking);
  if (!describe(asking, &ask->event)) {
    hooks_ask_delete(ask);
    return false;
  }
  api_asker_add(&asking->asker, &ask->event);
  hooks_ask(ask);
  return true;
}

static void topic_hooks_go_on(struct topic_hooks *asking)
{
  const struct topic_hooks_kind *kind = asking->kind;
  for (; asking->at < asking->count; asking->at++) {
    if (asking->late != NULL) {
      kind->refuse(asking, WIRE_POLICY_VIOLATION, asking->late);
      continue;
    }
    if (asking->meets_hook && !asking->is_placing && topic_hooks_ask(asking, kind->hook, kind->describe)) {
      return;
    }
    asking->is_placing = false;
    if (asking->meets_placement && kind->describe_place != NULL &&
        topic_hooks_ask(asking, HOOK_PLACEMENT, kind->describe_place)) {
      return;
    }
  }
  kind->submit(asking->change);
}

static void topic_hooks_begin(struct topic_change *change, const struct request *req,
                              const struct topic_hooks_kind *kind, int32_t count)
{
  bool meets_hook = api_meets_hook(req, kind->hook);
  bool meets_placement = kind->describe_place != NULL && hooks_has(req->api->hooks, HOOK_PLACEMENT);
  if (!meets_hook && !meets_placement) {
    kind->submit(change);
    return;
  }
  struct topic_hooks *asking = arena_zalloc(&change->arena, sizeof *asking);
  *asking = (struct topic_hooks){
      .kind = kind,
      .change = change,
      .api = req->api,
      .meets_hook = meets_hook,
      .meets_placement = meets_placement,
      .count = count,
  };
  api_asker_describe(&asking->asker, &change->arena, req);
  topic_hooks_go_on(asking);
}

void topic_hooks_create(struct topic_change *change, const struct request *req)
{
  topic_hooks_begin(change, req, &topic_hooks_of_create, change->create.topic_count);
}

void topic_hooks_delete(struct topic_change *change, const struct request *req)
{
  topic_hooks_begin(change, req, &topic_hooks_of_delete, change->drop.topic_count);
}

void topic_hooks_grow(struct topic_change *change, const struct request *req)
{
  topic_hooks_begin(change, req, &topic_hooks_of_grow, change->grow.topic_count);
}

void topic_hooks_alter(struct topic_change *change, const struct request *req)
{
  topic_hooks_begin(change, req, &topic_hooks_of_alter, change->alter.resource_count);
}
