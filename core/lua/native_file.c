// SPDX-License-Identifier: Apache-2.0
#include "lua/native_file.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "lua/value.h"
#include "os/dir.h"

static const char names_name[] = "luka.file.names";

/// Names that were found; a userdata, as errors of Lua jump over C frames.
struct native_names {
  char **names; ///< owned, each owned
  size_t count; ///< how many
  size_t room;  ///< allocated
};

static int native_names_gc(lua_State *vm)
{
  struct native_names *names = luaL_checkudata(vm, 1, names_name);
  for (size_t i = 0; i < names->count; i++) {
    mem_free(names->names[i]);
  }
  mem_free(names->names);
  *names = (struct native_names){.names = NULL};
  return 0;
}

static int native_names_add(void *arg, const char *name, bool is_dir)
{
  (void)is_dir;
  struct native_names *names = arg;
  if (names->count == names->room) {
    names->room = names->room > 0 ? 2 * names->room : 64;
    names->names = mem_realloc(names->names, names->room * sizeof *names->names);
  }
  names->names[names->count++] = mem_strdup(name);
  return 0;
}

static int native_file_list(lua_State *vm)
{
  const char *path = luaL_checkstring(vm, 1);
  struct native_names *names = lua_newuserdata(vm, sizeof *names);
  *names = (struct native_names){.names = NULL};
  if (luaL_newmetatable(vm, names_name)) {
    lua_pushcfunction(vm, native_names_gc);
    lua_setfield(vm, -2, "__gc");
  }
  lua_setmetatable(vm, -2);
  int result = dir_list(path, native_names_add, names);
  if (result < 0) {
    return lua_value_fail(vm, result);
  }
  lua_createtable(vm, (int)names->count, 0);
  for (size_t i = 0; i < names->count; i++) {
    lua_pushstring(vm, names->names[i]);
    lua_rawseti(vm, -2, (int)i + 1);
  }
  return 1;
}

static int native_file_kind(lua_State *vm)
{
  const char *path = luaL_checkstring(vm, 1);
  struct stat status;
  if (stat(path, &status) != 0) {
    return lua_value_fail(vm, error_set_errno(errno, "%s", path));
  }
  lua_pushstring(vm, S_ISDIR(status.st_mode) ? "folder" : S_ISREG(status.st_mode) ? "file" : "other");
  return 1;
}

/// Where the last piece of a file that is no hole ends. Sizes fit a Lua number exactly up to 8 PiB.
static int native_file_data_end(lua_State *vm)
{
  const char *path = luaL_checkstring(vm, 1);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return lua_value_fail(vm, error_set_errno(errno, "%s", path));
  }
  off_t end = 0;
  off_t data = 0;
  while ((data = lseek(fd, end, SEEK_DATA)) >= 0) {
    off_t hole = lseek(fd, data, SEEK_HOLE);
    if (hole <= end) {
      break; // it has become shorter
    }
    end = hole;
  }
  close(fd);
  lua_pushnumber(vm, (lua_Number)end);
  return 1;
}

int native_file_open(lua_State *vm)
{
  lua_createtable(vm, 0, 3);
  lua_pushcfunction(vm, native_file_data_end);
  lua_setfield(vm, -2, "data_end");
  lua_pushcfunction(vm, native_file_kind);
  lua_setfield(vm, -2, "kind");
  lua_pushcfunction(vm, native_file_list);
  lua_setfield(vm, -2, "list");
  return 1;
}
