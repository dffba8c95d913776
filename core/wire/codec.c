// SPDX-License-Identifier: Apache-2.0
#include "wire/codec.h"

#include "wire/apis.h"

const struct wire_api *wire_api_find(int16_t key)
{
  if (key < 0 || key > WIRE_API_KEY_MAX || wire_apis[key].name == NULL) {
    return NULL;
  }
  return &wire_apis[key];
}

int16_t wire_request_header_version(int16_t key, int16_t version)
{
  const struct wire_api *api = wire_api_find(key);
  if (api == NULL) {
    return 1;
  }
  if (key == WIRE_API_CONTROLLED_SHUTDOWN && version == 0) {
    return 0;
  }
  return version >= api->flexible_version ? 2 : 1;
}

int16_t wire_response_header_version(int16_t key, int16_t version)
{
  const struct wire_api *api = wire_api_find(key);
  if (api == NULL || key == WIRE_API_API_VERSIONS) {
    return 0;
  }
  return version >= api->flexible_version ? 1 : 0;
}
