// SPDX-License-Identifier: Apache-2.0
//
// The records of the local metastore as bytes. Each carries a CRC-32C of its key and of itself, so that a damaged one
// is noticed, also one that was moved below another key. Pure functions, any thread.
#include <string.h>

#include "base/bytes.h"
#include "base/crc.h"
#include "base/error.h"
#include "base/mem.h"
#include "metadata/metastore_local_private.h"

enum {
  // The header of a node, big-endian: version, counter of sequential children, two change numbers, owner, whether there
  // is data, the checksum.
  AT_VERSION = 0,
  AT_COUNTER = 4,
  AT_CREATE_ZXID = 8,
  AT_CHANGE_ZXID = 16,
  AT_OWNER = 24,
  AT_HAS_DATA = 32,
  AT_NODE_CRC = 36,
  // The seal.
  AT_FORMAT = 0,
  AT_TXN = 4,
  AT_SEAL_CRC = 12,
  CRC_BYTES = 4,
};

int local_damaged(const char *path, const char *what)
{
  return error_set(ERR_CORRUPT,
                   "metastore %s is %s: restore it, or remove the data directories to start empty: all records are "
                   "lost",
                   path, what);
}

/// The checksum of a key and a value, but for the place in the value that the checksum is kept at.
static uint32_t record_crc(const void *key, size_t key_size, const uint8_t *value, size_t size, size_t crc_at)
{
  uint32_t crc = crc32c_update(crc32c(key, key_size), value, crc_at);
  return crc32c_update(crc, value + crc_at + CRC_BYTES, size - crc_at - CRC_BYTES);
}

size_t local_key_of(char *key, const char *path)
{
  const char *slash = strrchr(path, '/');
  size_t parent = slash == path ? 1 : (size_t)(slash - path);
  size_t name = strlen(slash + 1);
  if (path[1] == '\0') {
    parent = 0; // the root
  }
  memcpy(key, path, parent);
  key[parent] = '\0';
  memcpy(key + parent + 1, slash + 1, name);
  return parent + 1 + name;
}

bool local_path_of(char *path, const void *key, size_t key_size)
{
  const char *bytes = key;
  const char *nul = memchr(bytes, '\0', key_size);
  if (nul == NULL || key_size > LOCAL_KEY_MAX) {
    return false;
  }
  size_t parent = (size_t)(nul - bytes);
  size_t name = key_size - parent - 1;
  if (memchr(nul + 1, '\0', name) != NULL || (parent == 0 && name > 0)) {
    return false;
  }
  parent = parent == 1 ? 0 : parent; // "/"
  memcpy(path, bytes, parent);
  path[parent] = '/';
  memcpy(path + parent + 1, nul + 1, name);
  path[parent + 1 + name] = '\0';
  char again[LOCAL_KEY_MAX + 1];
  return metastore_path_is_valid(path) && local_key_of(again, path) == key_size && memcmp(again, key, key_size) == 0;
}

uint8_t *local_node_encode(const void *key, size_t key_size, const struct local_node *node, size_t *size)
{
  *size = LOCAL_HEADER_BYTES + node->size;
  uint8_t *bytes = mem_zalloc(*size);
  bytes_put_u32(bytes + AT_VERSION, (uint32_t)node->stat.version);
  bytes_put_u32(bytes + AT_COUNTER, node->counter);
  bytes_put_u64(bytes + AT_CREATE_ZXID, (uint64_t)node->stat.create_zxid);
  bytes_put_u64(bytes + AT_CHANGE_ZXID, (uint64_t)node->stat.change_zxid);
  bytes_put_u64(bytes + AT_OWNER, (uint64_t)node->stat.owner);
  bytes[AT_HAS_DATA] = node->has_data;
  if (node->size > 0) {
    memcpy(bytes + LOCAL_HEADER_BYTES, node->data, node->size);
  }
  bytes_put_u32(bytes + AT_NODE_CRC, record_crc(key, key_size, bytes, *size, AT_NODE_CRC));
  return bytes;
}

bool local_node_decode(const void *key, size_t key_size, const uint8_t *bytes, size_t size, struct local_node *node)
{
  if (size < LOCAL_HEADER_BYTES ||
      bytes_get_u32(bytes + AT_NODE_CRC) != record_crc(key, key_size, bytes, size, AT_NODE_CRC)) {
    return false;
  }
  *node = (struct local_node){
      .stat =
          {
              .version = (int32_t)bytes_get_u32(bytes + AT_VERSION),
              .create_zxid = (int64_t)bytes_get_u64(bytes + AT_CREATE_ZXID),
              .change_zxid = (int64_t)bytes_get_u64(bytes + AT_CHANGE_ZXID),
              .owner = (int64_t)bytes_get_u64(bytes + AT_OWNER),
          },
      .counter = bytes_get_u32(bytes + AT_COUNTER),
      .has_data = bytes[AT_HAS_DATA] != 0,
      .data = bytes + LOCAL_HEADER_BYTES,
      .size = size - LOCAL_HEADER_BYTES,
  };
  return true;
}

void local_ephemeral_encode(const void *key, size_t key_size, uint8_t *bytes)
{
  bytes_put_u32(bytes, crc32c(key, key_size));
}

bool local_ephemeral_check(const void *key, size_t key_size, const uint8_t *bytes, size_t size)
{
  return size == LOCAL_EPHEMERAL_BYTES && bytes_get_u32(bytes) == crc32c(key, key_size);
}

void local_seal_encode(uint64_t txn, uint8_t *bytes)
{
  bytes_put_u32(bytes + AT_FORMAT, METASTORE_LOCAL_FORMAT);
  bytes_put_u64(bytes + AT_TXN, txn);
  bytes_put_u32(bytes + AT_SEAL_CRC, record_crc(LOCAL_SEAL, strlen(LOCAL_SEAL), bytes, LOCAL_SEAL_BYTES, AT_SEAL_CRC));
}

bool local_seal_decode(const uint8_t *bytes, size_t size, uint32_t *format, uint64_t *txn)
{
  if (size != LOCAL_SEAL_BYTES ||
      bytes_get_u32(bytes + AT_SEAL_CRC) != record_crc(LOCAL_SEAL, strlen(LOCAL_SEAL), bytes, size, AT_SEAL_CRC)) {
    return false;
  }
  *format = bytes_get_u32(bytes + AT_FORMAT);
  *txn = bytes_get_u64(bytes + AT_TXN);
  return true;
}
