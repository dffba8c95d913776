// SPDX-License-Identifier: Apache-2.0
//
// The check of a metastore's file before LMDB maps it. LMDB trusts its file: a page number out of range is followed out
// of the mapping, and a page in use that the list of free ones names is written over. So all that it would follow is
// read here with pread(2) first, each page once: both meta pages, the free list, the tables and their records. What
// passes cannot make LMDB fail, and no record is missing or changed:
//
//   meta page (the newer one) -> free list -> numbers of free pages
//                             -> main      -> nodes, ephemerals -> records, each with its checksum
//                                          -> seal: the number of the change that the meta page must name
//
// The layout is that of data version 1, of LMDB 0.9 on a little-endian machine with 64 bits. Free pages may lie behind
// the end of the file: LMDB does not write pages that a change took and gave back. At start-up, one thread.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "metadata/metastore_local_private.h"
#include "os/file.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(size_t) == 8, "another layout of LMDB's pages");
_Static_assert(MDB_VERSION_MAJOR == 0 && MDB_VERSION_MINOR == 9, "another layout of LMDB's pages");

enum {
  META_COUNT = 2,
  META_MAGIC_POS = 16,
  META_VERSION_POS = 20,
  META_FREE_POS = 40,
  META_MAIN_POS = 88,
  META_LAST_PAGE_POS = 136,
  META_TXN_POS = 144,
  META_BYTES = 152,
  DATA_VERSION = 1,

  TABLE_FLAGS_POS = 4, // of a table's description; the page size of the free list is before it
  TABLE_DEPTH_POS = 6,
  TABLE_ENTRIES_POS = 32,
  TABLE_ROOT_POS = 40,
  TABLE_BYTES = 48,
  TABLE_FLAGS_MASK = 0xff, // above it, the meta page keeps flags of the environment
  TABLE_INTEGER_KEYS = 8,

  PAGE_NUMBER_POS = 0,
  PAGE_FLAGS_POS = 10,
  PAGE_LOWER_POS = 12, // end of the positions of entries; of a value's pages: how many
  PAGE_UPPER_POS = 14, // begin of the entries
  PAGE_HEADER_BYTES = 16,
  PAGE_BRANCH = 1,
  PAGE_LEAF = 2,
  PAGE_OVERFLOW = 4,
  PAGE_META = 8,
  PAGE_SIZE_MIN = 512,
  PAGE_SIZE_MAX = 32768,

  ENTRY_FLAGS_POS = 4,
  ENTRY_KEY_SIZE_POS = 6,
  ENTRY_HEADER_BYTES = 8,
  ENTRY_OVERFLOW = 1, // the value lies on pages of its own
  ENTRY_TABLE = 2,    // the value describes a table

  NUMBER_BYTES = 8,
  DEPTH_MAX = 32,
  VALUE_MAX = 1 << 26,
};

#define META_MAGIC 0xbeefc0deu
#define NO_PAGE UINT64_MAX

/// A table as the meta page or the main table describes it.
struct table {
  bool is_there;    ///< described
  uint16_t flags;   ///< kind of keys
  uint16_t depth;   ///< levels of pages, 0: no root
  uint64_t entries; ///< records
  uint64_t root;    ///< page number, or NO_PAGE
};

struct walk;

/// The check of one file.
struct check {
  int fd;                    ///< the file
  const char *path;          ///< for messages
  uint64_t size;             ///< bytes of the file
  uint64_t page_size;        ///< bytes of a page
  uint64_t last_page;        ///< highest page number given out
  uint64_t txn;              ///< number of the last change
  struct table free;         ///< the free list
  struct table main;         ///< tables and seal
  struct table nodes;        ///< nodes
  struct table ephemerals;   ///< ephemeral nodes
  bool is_sealed;            ///< the seal was found
  uint64_t owned_nodes;      ///< nodes that say they are ephemeral
  uint8_t *seen;             ///< a bit for each page: used, or free
  uint8_t *pages[DEPTH_MAX]; ///< the page of each level of the walk
};

/// One record of a table.
struct record {
  const uint8_t *key;   ///< its bytes
  size_t key_size;      ///< how many
  const uint8_t *value; ///< its bytes
  size_t size;          ///< how many
  bool is_table;        ///< the value describes a table
};

/// A walk through one table in the order of its keys.
struct walk {
  struct check *check;                                           ///< the file
  const struct table *table;                                     ///< the table
  int (*each)(struct check *check, const struct record *record); ///< called for each record
  uint64_t entries;                                              ///< records met
  uint8_t last[LOCAL_KEY_MAX];                                   ///< key met last
  size_t last_size;                                              ///< bytes of it
  enum { LAST_NONE, LAST_RECORD, LAST_SEPARATOR } last_kind;     ///< what it belongs to
};

static uint16_t get_u16(const uint8_t *at)
{
  uint16_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static uint32_t get_u32(const uint8_t *at)
{
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static uint64_t get_u64(const uint8_t *at)
{
  uint64_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static int damaged(const struct check *check, const char *detail)
{
  char what[192];
  snprintf(what, sizeof what, "damaged (%.160s)", detail);
  return local_damaged(check->path, what);
}

static int damaged_page(const struct check *check, uint64_t number, const char *how)
{
  char detail[96];
  snprintf(detail, sizeof detail, "page %" PRIu64 "%s", number, how);
  return damaged(check, detail);
}

static int cut_short(const struct check *check)
{
  return local_damaged(check->path, "cut short");
}

static int read_at(const struct check *check, void *buffer, size_t size, uint64_t pos)
{
  if (size > check->size || pos > check->size - size) {
    return cut_short(check);
  }
  int result = file_read_at(check->fd, buffer, size, (int64_t)pos);
  if (result == ERR_TRUNCATED) {
    return cut_short(check);
  }
  return result < 0 ? error_set(result, "metastore %s cannot be read: %s", check->path, error_text(result)) : 0;
}

// ---- pages ----

/// Takes note of a page; each belongs to one place only.
static int claim_page(struct check *check, uint64_t number)
{
  if (number < META_COUNT || number > check->last_page) {
    return damaged_page(check, number, " does not exist");
  }
  uint8_t bit = (uint8_t)(1 << (number & 7));
  if (check->seen[number >> 3] & bit) {
    return damaged_page(check, number, " is used twice");
  }
  check->seen[number >> 3] |= bit;
  return 0;
}

/// Reads the pages of a large value. @param[out] bytes  owned: mem_free()
static int read_overflow(struct check *check, uint64_t number, size_t size, uint8_t **bytes)
{
  uint8_t header[PAGE_HEADER_BYTES];
  uint64_t needed = (PAGE_HEADER_BYTES - 1 + size) / check->page_size + 1;
  TRY(claim_page(check, number));
  TRY(read_at(check, header, sizeof header, number * check->page_size));
  uint64_t count = get_u32(header + PAGE_LOWER_POS);
  if (get_u64(header + PAGE_NUMBER_POS) != number || get_u16(header + PAGE_FLAGS_POS) != PAGE_OVERFLOW ||
      count < needed || count > check->last_page - number + 1) {
    return damaged_page(check, number, "");
  }
  if ((number + count) * check->page_size > check->size) {
    return cut_short(check);
  }
  for (uint64_t i = 1; i < count; i++) {
    TRY(claim_page(check, number + i));
  }
  *bytes = mem_alloc(size + 1);
  int result = read_at(check, *bytes, size, number * check->page_size + PAGE_HEADER_BYTES);
  if (result < 0) {
    mem_free(*bytes);
  }
  return result;
}

/// Bytes that an entry takes up on its page, 0: it does not fit.
static size_t entry_size(const struct check *check, const uint8_t *page, size_t pos, bool is_leaf)
{
  if (pos + ENTRY_HEADER_BYTES > check->page_size) {
    return 0;
  }
  const uint8_t *entry = page + pos;
  uint16_t flags = get_u16(entry + ENTRY_FLAGS_POS);
  size_t size = ENTRY_HEADER_BYTES + (size_t)get_u16(entry + ENTRY_KEY_SIZE_POS);
  if (get_u16(entry + ENTRY_KEY_SIZE_POS) > LOCAL_KEY_MAX) {
    return 0;
  }
  if (is_leaf) {
    size += flags == ENTRY_OVERFLOW ? (size_t)NUMBER_BYTES : (size_t)get_u32(entry);
    if (flags != 0 && flags != ENTRY_OVERFLOW && flags != ENTRY_TABLE) {
      return 0;
    }
  }
  size += size & 1;
  return size <= check->page_size - pos ? size : 0;
}

/// Whether the entries of a page lie side by side from `upper` to its end: LMDB moves them by their sizes.
static bool are_entries_packed(const struct check *check, const uint8_t *page, size_t count, bool is_leaf)
{
  uint8_t taken[PAGE_SIZE_MAX / 2 / 8] = {0};
  size_t upper = get_u16(page + PAGE_UPPER_POS);
  size_t total = 0;
  for (size_t i = 0; i < count; i++) {
    size_t pos = get_u16(page + PAGE_HEADER_BYTES + 2 * i);
    size_t size = pos >= upper && (pos & 1) == 0 ? entry_size(check, page, pos, is_leaf) : 0;
    if (size == 0) {
      return false;
    }
    for (size_t half = pos / 2; half < (pos + size) / 2; half++) {
      if (taken[half >> 3] & (1 << (half & 7))) {
        return false;
      }
      taken[half >> 3] |= (uint8_t)(1 << (half & 7));
    }
    total += size;
  }
  return total == check->page_size - upper;
}

/// Reads a page of a table and checks how it is laid out. @param[out] count  its entries
static int read_page(struct walk *walk, uint64_t number, int level, size_t *count)
{
  struct check *check = walk->check;
  TRY(claim_page(check, number));
  if (check->pages[level] == NULL) {
    check->pages[level] = mem_alloc(check->page_size);
  }
  uint8_t *page = check->pages[level];
  TRY(read_at(check, page, check->page_size, number * check->page_size));
  bool is_leaf = level + 1 == walk->table->depth;
  size_t lower = get_u16(page + PAGE_LOWER_POS);
  size_t upper = get_u16(page + PAGE_UPPER_POS);
  // A branch of one is left by LMDB in the free list only.
  size_t least = is_leaf || walk->table == &check->free ? 1 : 2;
  if (get_u64(page + PAGE_NUMBER_POS) != number ||
      get_u16(page + PAGE_FLAGS_POS) != (is_leaf ? PAGE_LEAF : PAGE_BRANCH) || lower < PAGE_HEADER_BYTES ||
      (lower & 1) != 0 || lower > upper || upper > check->page_size || (lower - PAGE_HEADER_BYTES) / 2 < least) {
    return damaged_page(check, number, "");
  }
  *count = (lower - PAGE_HEADER_BYTES) / 2;
  return are_entries_packed(check, page, *count, is_leaf) ? 0 : damaged_page(check, number, "");
}

// ---- tables ----

/// Takes the next key, which must come after the last one; a separator may be the same as the record that follows.
static bool take_key(struct walk *walk, const uint8_t *key, size_t size, bool is_record)
{
  bool is_number = walk->table == &walk->check->free;
  if (is_number && size != NUMBER_BYTES) {
    return false;
  }
  if (walk->last_kind != LAST_NONE) {
    int order;
    if (is_number) {
      uint64_t number = get_u64(key);
      uint64_t last = get_u64(walk->last);
      order = number < last ? -1 : number > last;
    } else {
      size_t shorter = size < walk->last_size ? size : walk->last_size;
      order = memcmp(key, walk->last, shorter);
      order = order != 0 ? order : size < walk->last_size ? -1 : size > walk->last_size;
    }
    if (order < 0 || (order == 0 && (!is_record || walk->last_kind == LAST_RECORD))) {
      return false;
    }
  }
  memcpy(walk->last, key, size);
  walk->last_size = size;
  walk->last_kind = is_record ? LAST_RECORD : LAST_SEPARATOR;
  return true;
}

static int take_record(struct walk *walk, const uint8_t *entry)
{
  struct check *check = walk->check;
  uint16_t flags = get_u16(entry + ENTRY_FLAGS_POS);
  struct record record = {
      .key = entry + ENTRY_HEADER_BYTES,
      .key_size = get_u16(entry + ENTRY_KEY_SIZE_POS),
      .size = get_u32(entry),
      .is_table = flags == ENTRY_TABLE,
  };
  record.value = record.key + record.key_size;
  walk->entries++;
  if (flags != ENTRY_OVERFLOW) {
    return walk->each(check, &record);
  }
  if (record.size > VALUE_MAX) {
    return damaged(check, "a value is too large");
  }
  uint8_t *bytes = NULL;
  TRY(read_overflow(check, get_u64(record.value), record.size, &bytes));
  record.value = bytes;
  int result = walk->each(check, &record);
  mem_free(bytes);
  return result;
}

/// Walks through a page and all below it; ends at the latest at the depth of the table.
static int walk_page(struct walk *walk, uint64_t number, int level)
{
  struct check *check = walk->check;
  bool is_leaf = level + 1 == walk->table->depth;
  size_t count = 0;
  TRY(read_page(walk, number, level, &count));
  for (size_t i = 0; i < count; i++) {
    const uint8_t *page = check->pages[level];
    const uint8_t *entry = page + get_u16(page + PAGE_HEADER_BYTES + 2 * i);
    // LMDB does not look at the first separator of a page.
    if ((is_leaf || i > 0) &&
        !take_key(walk, entry + ENTRY_HEADER_BYTES, get_u16(entry + ENTRY_KEY_SIZE_POS), is_leaf)) {
      return damaged_page(check, number, " is not in order");
    }
    if (is_leaf) {
      TRY(take_record(walk, entry));
    } else {
      TRY(walk_page(walk, get_u32(entry) | (uint64_t)get_u16(entry + ENTRY_FLAGS_POS) << 32, level + 1));
    }
  }
  return 0;
}

static int walk_table(struct check *check, const struct table *table, uint16_t flags,
                      int (*each)(struct check *check, const struct record *record))
{
  struct walk walk = {.check = check, .table = table, .each = each};
  bool is_empty = table->root == NO_PAGE;
  if (table->flags != flags || table->depth > DEPTH_MAX || is_empty != (table->depth == 0)) {
    return damaged(check, "a table's description");
  }
  if (!is_empty) {
    TRY(walk_page(&walk, table->root, 0));
  }
  return walk.entries == table->entries ? 0 : damaged(check, "a table has not as many records as it should");
}

static struct table table_of(const uint8_t *bytes)
{
  return (struct table){
      .is_there = true,
      .flags = get_u16(bytes + TABLE_FLAGS_POS) & TABLE_FLAGS_MASK,
      .depth = get_u16(bytes + TABLE_DEPTH_POS),
      .entries = get_u64(bytes + TABLE_ENTRIES_POS),
      .root = get_u64(bytes + TABLE_ROOT_POS),
  };
}

// ---- records ----

/// The pages that a change freed: their count, then their numbers, descending.
static int take_free(struct check *check, const struct record *record)
{
  uint64_t txn = get_u64(record->key);
  uint64_t room = record->size / NUMBER_BYTES;
  uint64_t count = room > 0 ? get_u64(record->value) : 0;
  if (record->is_table || txn == 0 || txn > check->txn || room == 0 || record->size % NUMBER_BYTES != 0 ||
      count > room - 1) {
    return damaged(check, "the list of free pages");
  }
  uint64_t last = NO_PAGE;
  for (uint64_t i = 1; i <= count; i++) {
    uint64_t number = get_u64(record->value + i * NUMBER_BYTES);
    if (number >= last) {
      return damaged(check, "the list of free pages is not in order");
    }
    TRY(claim_page(check, number));
    last = number;
  }
  return 0;
}

static bool is_named(const struct record *record, const char *name)
{
  return record->key_size == strlen(name) && memcmp(record->key, name, record->key_size) == 0;
}

static int take_seal(struct check *check, const struct record *record)
{
  uint32_t format = 0;
  uint64_t txn = 0;
  if (!local_seal_decode(record->value, record->size, &format, &txn)) {
    return damaged(check, "its seal");
  }
  if (format != METASTORE_LOCAL_FORMAT) {
    return error_set(ERR_UNSUPPORTED_VERSION, "metastore %s has format %" PRIu32 ", this program knows %d: use %s one",
                     check->path, format, METASTORE_LOCAL_FORMAT,
                     format > METASTORE_LOCAL_FORMAT ? "a newer" : "an older");
  }
  check->is_sealed = true;
  return txn == check->txn ? 0 : damaged(check, "it is not at its last change");
}

static int take_main(struct check *check, const struct record *record)
{
  if (is_named(record, LOCAL_SEAL) && !record->is_table) {
    return take_seal(check, record);
  }
  bool is_nodes = is_named(record, LOCAL_NODES);
  if ((!is_nodes && !is_named(record, LOCAL_EPHEMERALS)) || !record->is_table || record->size != TABLE_BYTES) {
    return damaged(check, "an unknown table");
  }
  *(is_nodes ? &check->nodes : &check->ephemerals) = table_of(record->value);
  return 0;
}

static int take_node(struct check *check, const struct record *record)
{
  char path[LOCAL_KEY_MAX + 2];
  struct local_node node;
  if (record->is_table || !local_path_of(path, record->key, record->key_size)) {
    return damaged(check, "the name of a node");
  }
  if (!local_node_decode(record->key, record->key_size, record->value, record->size, &node)) {
    char detail[128];
    snprintf(detail, sizeof detail, "node %.100s", path);
    return damaged(check, detail);
  }
  check->owned_nodes += node.stat.owner != 0;
  return 0;
}

static int take_ephemeral(struct check *check, const struct record *record)
{
  if (record->is_table || !local_ephemeral_check(record->key, record->key_size, record->value, record->size)) {
    return damaged(check, "the name of an ephemeral node");
  }
  return 0;
}

// ---- the file ----

/// Reads both meta pages and takes the newer one. LMDB writes them in turn.
static int read_meta(struct check *check)
{
  uint8_t metas[META_COUNT][META_BYTES];
  uint64_t txns[META_COUNT];
  TRY(read_at(check, metas[0], META_BYTES, 0));
  if (get_u32(metas[0] + META_MAGIC_POS) != META_MAGIC) {
    return local_damaged(check->path, "no metastore");
  }
  check->page_size = get_u32(metas[0] + META_FREE_POS);
  if (check->page_size < PAGE_SIZE_MIN || check->page_size > PAGE_SIZE_MAX ||
      (check->page_size & (check->page_size - 1)) != 0) {
    return damaged(check, "its page size");
  }
  TRY(read_at(check, metas[1], META_BYTES, check->page_size));
  for (uint64_t i = 0; i < META_COUNT; i++) {
    const uint8_t *meta = metas[i];
    txns[i] = get_u64(meta + META_TXN_POS);
    if (get_u64(meta + PAGE_NUMBER_POS) != i || get_u16(meta + PAGE_FLAGS_POS) != PAGE_META ||
        get_u32(meta + META_MAGIC_POS) != META_MAGIC || get_u32(meta + META_VERSION_POS) != DATA_VERSION ||
        get_u32(meta + META_FREE_POS) != check->page_size || (txns[i] != 0 && (txns[i] & 1) != i)) {
      return damaged_page(check, i, "");
    }
  }
  if (txns[0] > txns[1] ? txns[0] - txns[1] > 1 : txns[1] - txns[0] > 1) {
    return damaged(check, "the order of its meta pages");
  }
  const uint8_t *meta = metas[txns[1] > txns[0]];
  check->txn = get_u64(meta + META_TXN_POS);
  check->last_page = get_u64(meta + META_LAST_PAGE_POS);
  check->free = table_of(meta + META_FREE_POS);
  check->main = table_of(meta + META_MAIN_POS);
  if (check->last_page < META_COUNT - 1 || check->last_page >= LOCAL_MAP_SIZE_LAST / check->page_size) {
    return damaged(check, "its number of pages");
  }
  // LMDB maps both meta pages whole.
  return check->size < META_COUNT * check->page_size ? cut_short(check) : 0;
}

static int check_tables(struct check *check, bool *is_empty)
{
  TRY(walk_table(check, &check->free, TABLE_INTEGER_KEYS, take_free));
  TRY(walk_table(check, &check->main, 0, take_main));
  if (check->main.entries == 0) {
    *is_empty = true;
    return check->txn == 0 ? 0 : damaged(check, "its tables are missing");
  }
  *is_empty = false;
  if (!check->is_sealed || !check->nodes.is_there || !check->ephemerals.is_there) {
    return damaged(check, "a table is missing");
  }
  TRY(walk_table(check, &check->nodes, 0, take_node));
  TRY(walk_table(check, &check->ephemerals, 0, take_ephemeral));
  return check->owned_nodes == check->ephemerals.entries ? 0 : damaged(check, "its list of ephemeral nodes");
}

int local_check_file(int fd, const char *path, bool *is_empty)
{
  struct check check = {.fd = fd, .path = path};
  int64_t size = 0;
  TRY(file_size(fd, &size));
  if (size == 0) {
    *is_empty = true;
    return 0;
  }
  check.size = (uint64_t)size;
  TRY(read_meta(&check));
  check.seen = mem_zalloc(check.last_page / 8 + 1);
  int result = check_tables(&check, is_empty);
  for (int i = 0; i < DEPTH_MAX; i++) {
    mem_free(check.pages[i]);
  }
  mem_free(check.seen);
  return result;
}
