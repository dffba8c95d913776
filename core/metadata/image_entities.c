// SPDX-License-Identifier: Apache-2.0
//
// Groups, subscriptions to clients' metrics, and users in the image: those on which something is set. One sorted array,
// as there are few, and lookups are rare beside those of topics. Reading: any thread; building: control.
#include <string.h>

#include "base/mem.h"
#include "metadata/broker_config.h"
#include "metadata/image.h"
#include "metadata/image_private.h"

/// Copies a text to where there is room for it, and moves on.
static const char *put_text(char **at, const char *text)
{
  size_t size = strlen(text) + 1;
  char *copy = memcpy(*at, text, size);
  *at += size;
  return copy;
}

struct metadata_entity *metadata_entity_new(enum metadata_entity_kind kind, const char *name, size_t name_length,
                                            const struct config_entry *entries, int32_t entry_count)
{
  size_t size = sizeof(struct metadata_entity) + (size_t)entry_count * sizeof *entries + name_length + 1;
  for (int32_t i = 0; i < entry_count; i++) {
    size += strlen(entries[i].name) + strlen(entries[i].value) + 2;
  }
  struct metadata_entity *entity = mem_zalloc(size);
  struct config_entry *copies = (struct config_entry *)(void *)(entity + 1);
  char *texts = (char *)(copies + entry_count);
  atomic_init(&entity->refs, 1);
  entity->kind = kind;
  entity->name = memcpy(texts, name, name_length);
  entity->name_length = (int32_t)name_length;
  entity->entries = copies;
  entity->entry_count = entry_count;
  texts += name_length + 1;
  for (int32_t i = 0; i < entry_count; i++) {
    copies[i].name = put_text(&texts, entries[i].name);
    copies[i].value = put_text(&texts, entries[i].value);
  }
  return entity;
}

void metadata_entity_ref(struct metadata_entity *entity)
{
  atomic_fetch_add_explicit(&entity->refs, 1, memory_order_relaxed);
}

void metadata_entity_unref(struct metadata_entity *entity)
{
  if (atomic_fetch_sub_explicit(&entity->refs, 1, memory_order_acq_rel) == 1) {
    mem_free(entity);
  }
}

static int compare(const struct metadata_entity *entity, enum metadata_entity_kind kind, const char *name,
                   size_t length)
{
  if (entity->kind != kind) {
    return entity->kind < kind ? -1 : 1;
  }
  size_t own = (size_t)entity->name_length;
  int order = memcmp(entity->name, name, own < length ? own : length);
  return order != 0 ? order : (own > length) - (own < length);
}

/// Place of the first entity that is not below a name.
static int32_t place_of(const struct metadata_image *image, enum metadata_entity_kind kind, const char *name,
                        size_t length, bool *is_there)
{
  int32_t low = 0;
  for (int32_t high = image->entity_count; low < high;) {
    int32_t middle = low + (high - low) / 2;
    if (compare(image->entities[middle], kind, name, length) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  *is_there = low < image->entity_count && compare(image->entities[low], kind, name, length) == 0;
  return low;
}

const struct metadata_entity *metadata_image_entity(const struct metadata_image *image, enum metadata_entity_kind kind,
                                                    const char *name, size_t length)
{
  bool is_there = false;
  int32_t place = place_of(image, kind, name, length, &is_there);
  return is_there ? image->entities[place] : NULL;
}

struct metadata_entity *const *metadata_image_entities(const struct metadata_image *image,
                                                       enum metadata_entity_kind kind, int32_t *count)
{
  bool is_there = false;
  int32_t first = place_of(image, kind, "", 0, &is_there);
  int32_t end = first;
  while (end < image->entity_count && image->entities[end]->kind == kind) {
    end++;
  }
  *count = end - first;
  return image->entities + first;
}

const struct group_config *metadata_image_group_config(const struct metadata_image *image, const char *name,
                                                       size_t length)
{
  const struct metadata_entity *entity = metadata_image_entity(image, METADATA_GROUP, name, length);
  return entity ? &entity->group : &image->config->groups.values;
}

// ---- building ----

void image_entities_share(struct metadata_image *image, const struct metadata_image *base)
{
  image->entity_count = base->entity_count;
  image->entities = mem_array((size_t)base->entity_count, sizeof *image->entities);
  for (int32_t i = 0; i < base->entity_count; i++) {
    image->entities[i] = base->entities[i];
    metadata_entity_ref(image->entities[i]);
  }
}

void image_entities_drop(struct metadata_image *image)
{
  for (int32_t i = 0; i < image->entity_count; i++) {
    metadata_entity_unref(image->entities[i]);
  }
  mem_free(image->entities);
}

/// A group laid over the image's configuration; a copy, as images share what they have. The reference is taken.
static struct metadata_entity *lay(const struct metadata_image *image, struct metadata_entity *entity)
{
  if (entity->kind != METADATA_GROUP || !image->config) {
    return entity;
  }
  struct metadata_entity *laid = metadata_entity_new(entity->kind, entity->name, (size_t)entity->name_length,
                                                     entity->entries, entity->entry_count);
  group_config_lay(image->config, laid->entries, laid->entry_count, &laid->group);
  metadata_entity_unref(entity);
  return laid;
}

void image_entities_lay(struct metadata_image *image)
{
  for (int32_t i = 0; i < image->entity_count; i++) {
    image->entities[i] = lay(image, image->entities[i]);
  }
}

void image_entities_put(struct metadata_image *image, int32_t *room, struct metadata_entity *entity)
{
  bool is_there = false;
  int32_t at = place_of(image, entity->kind, entity->name, (size_t)entity->name_length, &is_there);
  entity = lay(image, entity);
  if (is_there) {
    metadata_entity_unref(image->entities[at]);
    image->entities[at] = entity;
    return;
  }
  if (image->entity_count == *room) {
    *room = *room + *room / 2 + 8;
    image->entities = mem_realloc(image->entities, (size_t)*room * sizeof *image->entities);
  }
  memmove(&image->entities[at + 1], &image->entities[at], (size_t)(image->entity_count - at) * sizeof *image->entities);
  image->entities[at] = entity;
  image->entity_count++;
}

void image_entities_remove(struct metadata_image *image, enum metadata_entity_kind kind, const char *name,
                           size_t length)
{
  bool is_there = false;
  int32_t at = place_of(image, kind, name, length, &is_there);
  if (!is_there) {
    return;
  }
  metadata_entity_unref(image->entities[at]);
  image->entity_count--;
  memmove(&image->entities[at], &image->entities[at + 1], (size_t)(image->entity_count - at) * sizeof *image->entities);
}
