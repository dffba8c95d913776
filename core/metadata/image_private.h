// SPDX-License-Identifier: Apache-2.0
//
// What image.c (reading), image_draft.c (building), image_entities.c and image_views.c share.
#pragma once

#include "metadata/image.h"

uint32_t image_hash_name(const char *name, size_t length);
uint32_t image_hash_id(const struct uuid *id);

void image_broker_ref(struct metadata_broker *broker);

// The entities of an image that is being built: taking over those of another, dropping them, laying groups over
// another configuration, adding (`room` slots, raised when needed; the reference is taken), removing.
void image_entities_share(struct metadata_image *image, const struct metadata_image *base);
void image_entities_drop(struct metadata_image *image);
void image_entities_lay(struct metadata_image *image);
void image_entities_put(struct metadata_image *image, int32_t *room, struct metadata_entity *entity);
void image_entities_remove(struct metadata_image *image, enum metadata_entity_kind kind, const char *name,
                           size_t length);

// The views of an image that is being built: taking over the definitions of another, dropping them, replacing them; and
// when all topics are there, adding those of views. `base` is the image before, whose views are used again where their
// source is the same, or NULL.
void image_views_share(struct metadata_image *image, const struct metadata_image *base);
void image_views_drop(struct metadata_image *image);
void image_views_set(struct metadata_image *image, const struct topic_view *views, int32_t count);
void image_views_make(struct metadata_image *image, const struct metadata_image *base);

/// Place of the first topic with a name not below `name`.
int32_t image_topic_place(const struct metadata_image *image, const char *name);
