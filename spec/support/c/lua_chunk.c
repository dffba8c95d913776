// SPDX-License-Identifier: Apache-2.0
#include "lua_chunk.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <string.h>

#include "lua/task.h"

int lua_chunk_run(struct lua_State *vm)
{
  struct lua_chunk *chunk = lua_touserdata(vm, 1);
  if (luaL_loadbuffer(vm, chunk->text, strlen(chunk->text), "@chunk.lua") != 0) {
    return lua_error(vm);
  }
  lua_call(vm, 0, 1);
  const char *result = lua_tostring(vm, -1);
  snprintf(chunk->result, sizeof chunk->result, "%s", result != NULL ? result : luaL_typename(vm, -1));
  return 0;
}

int lua_chunk_enter(struct lua_State *vm)
{
  lua_task_open(vm);
  lua_setglobal(vm, "native");
  return lua_chunk_run(vm);
}
