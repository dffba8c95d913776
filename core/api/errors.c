// SPDX-License-Identifier: Apache-2.0
#include "api/errors.h"

#include "base/error.h"
#include "wire/error_codes.h"

int16_t api_wire_error(int code)
{
  switch (code) {
    case 0:
      return WIRE_NONE;
    case ERR_NOT_FOUND:
      return WIRE_UNKNOWN_TOPIC_OR_PARTITION;
    case ERR_NOT_LEADER:
      return WIRE_NOT_LEADER_OR_FOLLOWER;
    case ERR_FENCED_LEADER_EPOCH:
      return WIRE_FENCED_LEADER_EPOCH;
    case ERR_UNKNOWN_LEADER_EPOCH:
      return WIRE_UNKNOWN_LEADER_EPOCH;
    case ERR_OFFSET_OUT_OF_RANGE:
      return WIRE_OFFSET_OUT_OF_RANGE;
    case ERR_CORRUPT:
    case ERR_CORRUPT_BATCH:
      return WIRE_CORRUPT_MESSAGE;
    case ERR_INVALID_RECORD:
      return WIRE_INVALID_RECORD;
    case ERR_UNSUPPORTED_FORMAT:
      return WIRE_INVALID_RECORD;
    case ERR_INVALID_TIMESTAMP:
      return WIRE_INVALID_TIMESTAMP;
    case ERR_BATCH_TOO_LARGE:
      return WIRE_MESSAGE_TOO_LARGE;
    case ERR_LIMIT: // a batch larger than segment.bytes
      return WIRE_RECORD_LIST_TOO_LARGE;
    case ERR_UNSUPPORTED_CODEC:
      return WIRE_UNSUPPORTED_COMPRESSION_TYPE;
    case ERR_IO:
    case ERR_NO_SPACE:
    case ERR_READ_ONLY:
    case ERR_NO_FILES:
    case ERR_STORAGE_OFFLINE:
      return WIRE_KAFKA_STORAGE_ERROR;
    case ERR_OUT_OF_ORDER_SEQUENCE:
      return WIRE_OUT_OF_ORDER_SEQUENCE_NUMBER;
    case ERR_INVALID_PRODUCER_EPOCH:
      return WIRE_INVALID_PRODUCER_EPOCH;
    case ERR_POLICY_VIOLATION:
      return WIRE_POLICY_VIOLATION;
    case ERR_NOT_ENOUGH_REPLICAS:
      return WIRE_NOT_ENOUGH_REPLICAS;
    case ERR_NO_LOG_DIR:
      return WIRE_LOG_DIR_NOT_FOUND;
    case ERR_TIMEOUT:
      return WIRE_REQUEST_TIMED_OUT;
    default:
      return WIRE_UNKNOWN_SERVER_ERROR;
  }
}
