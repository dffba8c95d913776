// SPDX-License-Identifier: Apache-2.0
//
// What image.c (reading), image_draft.c (building) and image_entities.c share.
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
