// SPDX-License-Identifier: Apache-2.0
#include "lua/native_clock.h"

#include <lauxlib.h>
#include <lua.h>

#include "lua/state.h"
#include "os/clock.h"

static int clock_now(lua_State *vm)
{
  lua_pushnumber(vm, (lua_Number)clock_wall_ms());
  return 1;
}

/// ticks() -> monotonic time, ns
static int clock_ticks(lua_State *vm)
{
  lua_pushnumber(vm, (lua_Number)clock_mono_ns());
  return 1;
}

/// poll(): see lua_state_poll()
static int clock_poll(lua_State *vm)
{
  lua_state_poll(vm);
  return 0;
}

int native_clock_open(struct lua_State *vm)
{
  static const luaL_Reg functions[] = {
      {"now", clock_now},
      {"poll", clock_poll},
      {"ticks", clock_ticks},
      {NULL, NULL},
  };
  lua_newtable(vm);
  luaL_setfuncs(vm, functions, 0);
  return 1;
}
