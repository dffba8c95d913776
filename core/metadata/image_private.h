// SPDX-License-Identifier: Apache-2.0
//
// What image.c (reading) and image_draft.c (building) share.
#pragma once

#include "metadata/image.h"

uint32_t image_hash_name(const char *name, size_t length);
uint32_t image_hash_id(const struct uuid *id);

void image_broker_ref(struct metadata_broker *broker);
