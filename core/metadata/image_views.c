// SPDX-License-Identifier: Apache-2.0
//
// Views in the image: topics to read only that show some records of another. Their definitions are shared from image to
// image; their topics are made anew whenever an image is finished, from the topics that it has, so a view comes and
// goes, grows and gets its configs with its source, and nobody has to think of it. Reading: any thread; building:
// control.
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/siphash.h"
#include "metadata/image.h"
#include "metadata/image_private.h"

/// Definitions; immutable, shared by images, one block.
struct topic_views {
  _Atomic(int32_t) refs;     ///< held by images
  int32_t count;             ///< how many
  struct topic_view items[]; ///< sorted by name (bytewise); their texts lie behind them
};

static int compare_views(const void *left, const void *right)
{
  return strcmp(((const struct topic_view *)left)->name, ((const struct topic_view *)right)->name);
}

/// Copies a text to where there is room for it, and moves on.
static const char *put_text(char **at, const char *text)
{
  size_t size = strlen(text) + 1;
  char *copy = memcpy(*at, text, size);
  *at += size;
  return copy;
}

void image_views_share(struct metadata_image *image, const struct metadata_image *base)
{
  image->views = base->views;
  if (image->views) {
    atomic_fetch_add_explicit(&image->views->refs, 1, memory_order_relaxed);
  }
}

void image_views_drop(struct metadata_image *image)
{
  if (image->views && atomic_fetch_sub_explicit(&image->views->refs, 1, memory_order_acq_rel) == 1) {
    mem_free(image->views);
  }
  image->views = NULL;
}

void image_views_set(struct metadata_image *image, const struct topic_view *views, int32_t count)
{
  image_views_drop(image);
  if (count == 0) {
    return;
  }
  size_t items_size = sizeof(struct topic_views) + (size_t)count * sizeof *views;
  size_t size = items_size;
  for (int32_t i = 0; i < count; i++) {
    size += strlen(views[i].name) + strlen(views[i].from) + strlen(views[i].place) + 3;
  }
  struct topic_views *made = mem_zalloc(size);
  char *texts = (char *)made + items_size;
  atomic_init(&made->refs, 1);
  made->count = count;
  for (int32_t i = 0; i < count; i++) {
    made->items[i].name = put_text(&texts, views[i].name);
    made->items[i].from = put_text(&texts, views[i].from);
    made->items[i].place = put_text(&texts, views[i].place);
  }
  qsort(made->items, (size_t)count, sizeof made->items[0], compare_views);
  image->views = made;
}

const struct topic_view *metadata_image_view(const struct metadata_image *image, const char *name, size_t length)
{
  int32_t low = 0;
  for (int32_t high = image->views ? image->views->count : 0; low < high;) {
    int32_t middle = low + (high - low) / 2;
    const struct topic_view *view = &image->views->items[middle];
    size_t view_length = strlen(view->name);
    int order = memcmp(view->name, name, view_length < length ? view_length : length);
    order = order != 0 ? order : (view_length > length) - (view_length < length);
    if (order == 0) {
      return view;
    }
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return NULL;
}

const struct topic_view *metadata_image_hidden_view(const struct metadata_image *image)
{
  for (int32_t i = 0; image->views && i < image->views->count; i++) {
    const struct topic_view *view = &image->views->items[i];
    const struct metadata_topic *topic = metadata_image_topic(image, view->name, strlen(view->name));
    if (topic && !topic->source) {
      return view;
    }
  }
  return NULL;
}

const struct topic_view *metadata_image_lost_view(const struct metadata_image *image, int32_t *at)
{
  while (image->views && *at < image->views->count) {
    const struct topic_view *view = &image->views->items[(*at)++];
    if (!metadata_image_topic(image, view->name, strlen(view->name))) {
      return view;
    }
  }
  return NULL;
}

// ---- topics of views ----

/// An id that stays as long as name and source do: clients remember ids of topics, and offsets of groups end with them.
/// It looks like one of Kafka's, but that its version says that it is made of something (RFC 9562, version 8).
static struct uuid view_id(const char *name, const struct uuid *source)
{
  static const struct siphash_key key = {0x6c756b6176696577, 0x6964};
  uint8_t text[sizeof source->bytes + 256];
  size_t length = strnlen(name, sizeof text - sizeof source->bytes);
  memcpy(text, source->bytes, sizeof source->bytes);
  memcpy(text + sizeof source->bytes, name, length);
  struct siphash hash = siphash128(&key, text, sizeof source->bytes + length);
  struct uuid id;
  memcpy(id.bytes, &hash.low, sizeof hash.low);
  memcpy(id.bytes + sizeof hash.low, &hash.high, sizeof hash.high);
  id.bytes[0] &= 0x7f; // its text does not begin with '-', as Kafka's do not
  id.bytes[6] = (uint8_t)((id.bytes[6] & 0x0f) | 0x80);
  id.bytes[8] = (uint8_t)((id.bytes[8] & 0x3f) | 0x80);
  return id;
}

static struct metadata_topic *make_view(const struct topic_view *view, const struct metadata_topic *source)
{
  size_t name_size = strlen(view->name) + 1;
  struct metadata_topic *topic = mem_zalloc(sizeof *topic + name_size);
  atomic_init(&topic->refs, 1);
  metadata_topic_ref(source);
  topic->source = source;
  topic->name = memcpy(topic + 1, view->name, name_size);
  topic->name_length = (int32_t)name_size - 1;
  topic->hash = image_hash_name(topic->name, name_size - 1);
  topic->id = view_id(topic->name, &source->id);
  topic->version = source->version;
  topic->partition_count = source->partition_count;
  topic->partitions = source->partitions;
  topic->override_count = source->override_count;
  topic->overrides = source->overrides;
  topic->config = source->config;
  return topic;
}

/// The topic of a view, with a reference; NULL: its source is not there, or a topic has its name.
static struct metadata_topic *find_view(const struct metadata_image *image, const struct metadata_image *base,
                                        const struct topic_view *view)
{
  int32_t at = image_topic_place(image, view->from);
  if (at == image->topic_count || strcmp(image->topics[at]->name, view->from) != 0) {
    return NULL;
  }
  const struct metadata_topic *source = image->topics[at];
  at = image_topic_place(image, view->name);
  if (at < image->topic_count && strcmp(image->topics[at]->name, view->name) == 0) {
    return NULL;
  }
  const struct metadata_topic *old = base ? metadata_image_topic(base, view->name, strlen(view->name)) : NULL;
  if (old && old->source == source) {
    metadata_topic_ref(old);
    return (struct metadata_topic *)old;
  }
  return make_view(view, source);
}

void image_views_make(struct metadata_image *image, const struct metadata_image *base)
{
  if (!image->views) {
    return;
  }
  struct metadata_topic **made = mem_array((size_t)image->views->count, sizeof *made);
  int32_t count = 0;
  for (int32_t i = 0; i < image->views->count; i++) {
    struct metadata_topic *topic = find_view(image, base, &image->views->items[i]);
    if (topic) {
      made[count++] = topic;
    }
  }
  // Both are sorted: merged from the end.
  int32_t from = image->topic_count;
  int32_t to = image->topic_count + count;
  image->topics = mem_realloc(image->topics, (size_t)to * sizeof(struct metadata_topic *) + 1);
  image->topic_count = to;
  while (count > 0) {
    bool is_view_last = from == 0 || strcmp(image->topics[from - 1]->name, made[count - 1]->name) < 0;
    image->topics[--to] = is_view_last ? made[--count] : image->topics[--from];
  }
  mem_free(made);
}
