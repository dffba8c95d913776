// SPDX-License-Identifier: Apache-2.0
#include "api/broker_id.h"

bool broker_id_read(struct wire_string text, int32_t *id)
{
  int sign = text.length > 0 && (text.data[0] == '-' || text.data[0] == '+') ? 1 : 0;
  int64_t number = 0;
  if (text.length <= sign) {
    return false;
  }
  for (int32_t i = sign; i < text.length; i++) {
    if (text.data[i] < '0' || text.data[i] > '9') {
      return false;
    }
    number = number * 10 + (text.data[i] - '0');
    if (number > (int64_t)INT32_MAX + 1) {
      return false;
    }
  }
  number = text.data[0] == '-' ? -number : number;
  if (number > INT32_MAX) {
    return false;
  }
  *id = (int32_t)number;
  return true;
}
