// SPDX-License-Identifier: Apache-2.0
//
// segment:copy(folder) copies the files of a segment to <folder>/<topic>-<partition>/, each under another name first,
// and to the disk before it gets its own: whoever finds a file there finds all of it. Such a folder is one that Kafka's
// tools, `luka dump` and a broker read as they read the partition's own.
#include "lua/policy_vm_segment.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "lua/state.h"
#include "lua/value.h"
#include "os/dir.h"
#include "os/file.h"
#include "policy/vm.h"

enum {
  SEGMENT_PATH_SIZE = 4096,
  SEGMENT_CHUNK_BYTES = 64 * 1024,
};

/// Makes a folder, and those that it is to lie in.
static int segment_make_folders(char *path)
{
  for (char *at = path + 1; *at != '\0'; at++) {
    if (*at == '/') {
      *at = '\0';
      int result = dir_make(path);
      *at = '/';
      TRY(result);
    }
  }
  return dir_make(path);
}

/// Copies all bytes of a file, to the disk.
static int segment_copy_bytes(int from, int to)
{
  uint8_t chunk[SEGMENT_CHUNK_BYTES];
  int64_t pos = 0;
  size_t got = 0;
  do {
    TRY(file_read_some_at(from, chunk, sizeof chunk, pos, &got));
    TRY(file_write_at(to, chunk, got, pos));
    pos += (int64_t)got;
  } while (got == sizeof chunk);
  return file_sync(to);
}

/// Copies a file. @return 0 also when there is none of that name
static int segment_copy_file(const char *from_path, const char *to_path)
{
  char new_path[SEGMENT_PATH_SIZE + 8];
  snprintf(new_path, sizeof new_path, "%s.tmp", to_path);
  int from = -1;
  int result = file_open(from_path, 0, &from);
  if (result == ERR_NOT_FOUND) {
    return 0;
  }
  TRY(result);
  int to = -1;
  result = file_open(new_path, FILE_WRITE | FILE_CREATE | FILE_TRUNCATE, &to);
  if (result == 0) {
    result = segment_copy_bytes(from, to);
    int closed = file_close(to);
    result = result < 0 ? result : closed;
    result = result < 0 ? result : dir_rename(new_path, to_path);
    if (result < 0) {
      struct error_detail detail = *error_last();
      dir_remove_file(new_path);
      result = error_record(detail.code, 0, detail.file, detail.line, "%s", detail.message);
    }
  }
  file_close(from);
  return result;
}

/// @param path    of the .log file
/// @param folder  to copy to, `<folder>/<topic>-<partition>`
static int segment_copy_files(const char *path, char *folder)
{
  static const char *const suffixes[] = {".log", ".index", ".timeindex", ".txnindex", ".snapshot"};
  TRY(segment_make_folders(folder));
  const char *name = strrchr(path, '/') + 1;
  int stem = (int)(strlen(path) - strlen(suffixes[0]));
  int name_stem = stem - (int)(name - path);
  // The records come last: who finds them finds what belongs to them.
  for (int i = (int)(sizeof suffixes / sizeof suffixes[0]) - 1; i >= 0; i--) {
    char from[SEGMENT_PATH_SIZE];
    char to[SEGMENT_PATH_SIZE];
    int from_length = snprintf(from, sizeof from, "%.*s%s", stem, path, suffixes[i]);
    int to_length = snprintf(to, sizeof to, "%s/%.*s%s", folder, name_stem, name, suffixes[i]);
    if (from_length >= (int)sizeof from || to_length >= (int)sizeof to) {
      return error_set(ERR_LIMIT, "%s: the path is too long", folder);
    }
    TRY(segment_copy_file(from, to));
  }
  return dir_sync(folder);
}

// segment:copy(folder) -> path of the copy's .log file
static int segment_copy(lua_State *vm)
{
  const char *path = lua_tostring(vm, lua_upvalueindex(1));
  const char *topic = lua_tostring(vm, lua_upvalueindex(2));
  luaL_checktype(vm, 1, LUA_TTABLE);
  const char *parent = luaL_checkstring(vm, 2);
  char folder[SEGMENT_PATH_SIZE];
  int length = snprintf(folder, sizeof folder, "%s/%s-%d", parent, topic, (int)lua_tointeger(vm, lua_upvalueindex(3)));
  int result = parent[0] == '\0'              ? error_set(ERR_INVALID, "the folder has no name")
               : length >= (int)sizeof folder ? error_set(ERR_LIMIT, "%s: the path is too long", parent)
                                              : segment_copy_files(path, folder);
  if (result < 0) {
    return luaL_error(vm, "cannot copy the segment: %s", error_last()->message);
  }
  lua_pushfstring(vm, "%s%s", folder, strrchr(path, '/'));
  return 1;
}

static void segment_set_text(lua_State *vm, const char *name, const char *text)
{
  lua_pushstring(vm, text);
  lua_setfield(vm, -2, name);
}

void policy_vm_push_segment(struct lua_State *vm, const struct policy_segment *segment)
{
  static const char *const none[] = {NULL};
  lua_createtable(vm, 0, 9);
  segment_set_text(vm, "topic", segment->topic);
  segment_set_text(vm, "path", segment->path);
  lua_value_set_int64(vm, "partition", segment->partition);
  lua_value_set_int64(vm, "base_offset", segment->base_offset);
  lua_value_set_int64(vm, "next_offset", segment->next_offset);
  lua_value_set_int64(vm, "size", segment->size_bytes);
  lua_value_set_int64(vm, "age", segment->age_ms);
  lua_createtable(vm, 0, 2);
  lua_value_set_int64(vm, "size", segment->log_bytes);
  lua_value_set_int64(vm, "segments", segment->log_segments);
  lua_pushliteral(vm, "log has size and segments");
  lua_value_restrict(vm, none);
  lua_setfield(vm, -2, "log");
  // What it copies is the segment, whatever becomes of the fields.
  lua_pushstring(vm, segment->path);
  lua_pushstring(vm, segment->topic);
  lua_pushinteger(vm, segment->partition);
  lua_pushcclosure(vm, segment_copy, 3);
  lua_setfield(vm, -2, "copy");
  lua_pushliteral(vm, "a segment has topic, partition, base_offset, next_offset, size, age, path, log and copy");
  lua_value_restrict(vm, none);
}
