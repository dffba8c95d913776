// SPDX-License-Identifier: Apache-2.0
#include "lua/native_hash.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdint.h>

#include "base/crc.h"
#include "policy/partitioners.h"

static const char *hash_text(lua_State *vm, size_t *size)
{
  if (lua_isnil(vm, 1)) {
    *size = 0;
    return "";
  }
  if (lua_type(vm, 1) != LUA_TSTRING) {
    luaL_error(vm, "a hash is made of a string, or of nil as of an empty one, not of a %s", luaL_typename(vm, 1));
  }
  return lua_tolstring(vm, 1, size);
}

static int hash_murmur2(lua_State *vm)
{
  size_t size = 0;
  const char *text = hash_text(vm, &size);
  lua_pushnumber(vm, (lua_Number)(policy_murmur2((const uint8_t *)text, size) & INT32_MAX));
  return 1;
}

static int hash_crc32(lua_State *vm)
{
  size_t size = 0;
  const char *text = hash_text(vm, &size);
  lua_pushnumber(vm, (lua_Number)crc32_zlib(text, size));
  return 1;
}

int native_hash_open(struct lua_State *vm)
{
  lua_createtable(vm, 0, 2);
  lua_pushcfunction(vm, hash_murmur2);
  lua_setfield(vm, -2, "hash");
  lua_pushcfunction(vm, hash_crc32);
  lua_setfield(vm, -2, "crc32");
  return 1;
}
