// SPDX-License-Identifier: Apache-2.0
#include "lua/cli.h"

#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/version.h"
#include "lua/cli_private.h"
#include "lua/modules.h"
#include "lua/walk.h"

/// What cli_main() is given and gives back.
struct cli_call {
  int argc;                    ///< of the process
  char **argv;                 ///< of the process, borrowed
  int status;                  ///< exit status
  bool is_serving;             ///< see lua_cli_run()
  struct lua_cli_serve *serve; ///< filled when it is
};

static void *cli_alloc(void *arg, void *block, size_t old_size, size_t new_size);
static int cli_main(lua_State *vm);
static void cli_take_serve(lua_State *vm, struct lua_cli_serve *serve);

int lua_cli_run(int argc, char **argv, bool *is_serving, struct lua_cli_serve *serve)
{
  memset(serve, 0, sizeof *serve);
  struct cli_call call = {.argc = argc, .argv = argv, .status = 1, .serve = serve};
  lua_State *vm = lua_newstate(cli_alloc, NULL);
  if (vm == NULL) {
    lua_cli_fail("luka: LuaJIT cannot make a state: a GC64 build of LuaJIT 2.1 is needed", false);
    return 1;
  }
  if (lua_cpcall(vm, cli_main, &call) != 0) {
    char text[LUA_STATE_TEXT_SIZE];
    const char *message = lua_tostring(vm, -1);
    snprintf(text, sizeof text, "luka: internal error: %s", message != NULL ? message : "no text");
    lua_cli_fail(text, false);
    call.status = 1;
    call.is_serving = false;
  }
  lua_close(vm);
  *is_serving = call.is_serving;
  return call.status;
}

void lua_cli_destroy(struct lua_cli_serve *serve)
{
  arena_destroy(&serve->arena);
}

/// The state's memory comes from malloc, so that sanitizers see it.
static void *cli_alloc(void *arg, void *block, size_t old_size, size_t new_size)
{
  (void)arg;
  (void)old_size;
  if (new_size == 0) {
    free(block);
    return NULL;
  }
  return realloc(block, new_size);
}

/// Runs luka.cli.main(argv); what it returns is an exit status, or a table for `serve`.
static int cli_main(lua_State *vm)
{
  struct cli_call *call = lua_touserdata(vm, 1);
  lua_cli_open(vm);
  lua_getglobal(vm, "require");
  lua_pushliteral(vm, "luka.cli");
  lua_call(vm, 1, 1);
  lua_getfield(vm, -1, "main");
  lua_createtable(vm, call->argc, 1);
  for (int i = 0; i < call->argc; i++) {
    lua_pushstring(vm, call->argv[i]);
    lua_rawseti(vm, -2, i);
  }
  lua_call(vm, 1, 1);
  if (lua_istable(vm, -1)) {
    cli_take_serve(vm, call->serve);
    call->is_serving = true;
    call->status = 0;
  } else {
    call->status = (int)luaL_checkinteger(vm, -1);
  }
  return 0;
}

// ---- what `serve` was asked to do ----

/// A copy of the text in field `name` of the table on top of the stack; NULL for none.
static const char *cli_text(lua_State *vm, struct lua_cli_serve *serve, const char *name)
{
  const char *copy = NULL;
  lua_getfield(vm, -1, name);
  if (lua_type(vm, -1) == LUA_TSTRING) {
    size_t size = 0;
    const char *text = lua_tolstring(vm, -1, &size);
    copy = arena_strndup(&serve->arena, text, size);
  }
  lua_pop(vm, 1);
  return copy;
}

static bool cli_flag(lua_State *vm, const char *name)
{
  lua_getfield(vm, -1, name);
  bool is_set = lua_toboolean(vm, -1);
  lua_pop(vm, 1);
  return is_set;
}

/// Copies the table on top of the stack.
static void cli_take_serve(lua_State *vm, struct lua_cli_serve *serve)
{
  static const char *const levels[] = {"error", "warn", "info", "debug"};
  serve->path = cli_text(vm, serve, "path");
  serve->is_json = cli_flag(vm, "is_json");
  serve->is_adopting = cli_flag(vm, "is_adopting");
  serve->is_debug = cli_flag(vm, "is_debug");
  serve->log_level = -1;
  const char *level = cli_text(vm, serve, "log_level");
  for (int i = 0; i < 4; i++) {
    if (level != NULL && strcmp(level, levels[i]) == 0) {
      serve->log_level = i;
    }
  }
  lua_getfield(vm, -1, "sets");
  serve->sets = lua_cli_overrides(vm, lua_gettop(vm), &serve->arena, &serve->set_count);
  lua_pop(vm, 1);
}

const struct config_override *lua_cli_overrides(struct lua_State *vm, int index, struct arena *arena, int *count)
{
  *count = lua_istable(vm, index) ? (int)lua_objlen(vm, index) : 0;
  struct config_override *sets = arena_zalloc(arena, ((size_t)*count + 1) * sizeof *sets);
  for (int i = 0; i < *count; i++) {
    lua_rawgeti(vm, index, i + 1);
    luaL_checktype(vm, -1, LUA_TTABLE);
    lua_rawgeti(vm, -1, 1);
    lua_rawgeti(vm, -2, 2);
    const char *key = luaL_checkstring(vm, -2);
    const char *value = luaL_checkstring(vm, -1);
    sets[i].key = arena_strndup(arena, key, strlen(key));
    sets[i].value = arena_strndup(arena, value, strlen(value));
    lua_pop(vm, 3);
  }
  return sets;
}

// ---- the state ----

void lua_cli_fail(const char *text, bool is_json)
{
  if (is_json) {
    slog_error("%s", text);
    return;
  }
  char line[LUA_STATE_TEXT_SIZE + 1];
  size_t length = strnlen(text, sizeof line - 1);
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)text[i];
    line[i] = byte < 0x20 || byte == 0x7f ? '?' : text[i];
    if (i > 0 && (unsigned char)text[i - 1] == 0xc2 && (byte & 0xe0) == 0x80) { // terminals obey U+0080 to U+009F, too
      line[i - 1] = '?';
      line[i] = '?';
    }
  }
  line[length] = '\n';
  ssize_t ignored = write(STDERR_FILENO, line, length + 1);
  (void)ignored;
}

/// fail(text, is_json): see lua_cli_fail().
static int cli_host_fail(lua_State *vm)
{
  lua_cli_fail(luaL_checkstring(vm, 1), lua_toboolean(vm, 2));
  return 0;
}

/// set_json(is_json): how lines of the log are written; print() of a configuration is one, too
static int cli_host_set_json(lua_State *vm)
{
  slog_setup(SLOG_INFO, lua_toboolean(vm, 1));
  return 0;
}

/// flush() -> true, or nil and why standard output did not take all that was written to it
static int cli_host_flush(lua_State *vm)
{
  if (fflush(stdout) == 0 && !ferror(stdout)) {
    lua_pushboolean(vm, true);
    return 1;
  }
  lua_pushnil(vm);
  lua_pushstring(vm, strerror(errno));
  return 2;
}

/// kind(path) -> "file", "folder", "socket" or "other"; nothing when there is none. For words that may be one of these,
/// or a misspelt verb.
static int cli_host_kind(lua_State *vm)
{
  struct stat found;
  if (stat(luaL_checkstring(vm, 1), &found) < 0) {
    return 0;
  }
  lua_pushstring(vm, S_ISREG(found.st_mode)    ? "file"
                     : S_ISDIR(found.st_mode)  ? "folder"
                     : S_ISSOCK(found.st_mode) ? "socket"
                                               : "other");
  return 1;
}

/// require(name): the program's own modules, and the libraries of LuaJIT that are loaded on demand, such as ffi.
static int cli_require(lua_State *vm)
{
  const char *name = luaL_checkstring(vm, 1);
  bool is_ours = strncmp(name, "luka.", 5) == 0;
  lua_settop(vm, 1);
  lua_pushvalue(vm, lua_upvalueindex(is_ours ? 1 : 2));
  lua_insert(vm, 1);
  lua_call(vm, 1, 1);
  return 1;
}

void lua_cli_open(struct lua_State *vm)
{
  static const luaL_Reg functions[] = {
      {"fail", cli_host_fail},
      {"flush", cli_host_flush},
      {"set_json", cli_host_set_json},
      {"kind", cli_host_kind},
  };
  luaL_openlibs(vm);
  lua_walk_open(vm);
  lua_getglobal(vm, LUA_LOADLIBNAME);
  lua_pushliteral(vm, "");
  lua_setfield(vm, -2, "path");
  lua_pushliteral(vm, "");
  lua_setfield(vm, -2, "cpath");
  lua_pop(vm, 1);
  lua_getglobal(vm, "require");
  lua_modules_open(vm);
  lua_getglobal(vm, "require");
  lua_insert(vm, -2);
  lua_pushcclosure(vm, cli_require, 2);
  lua_setglobal(vm, "require");

  lua_createtable(vm, 0, 5);
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    lua_pushcfunction(vm, functions[i].func);
    lua_setfield(vm, -2, functions[i].name);
  }
  lua_pushstring(vm, luka_version);
  lua_setfield(vm, -2, "version");
  lua_modules_add(vm, "luka.native.cli");
  lua_cli_config_push(vm);
  lua_modules_add(vm, "luka.native.config");
}
