// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: luka.native.record in a Lua state. Any bytes are walked as batches of any format, and their records read
// under a small limit; what was read is built into a batch again and has to come out the same. Lua objects are made and
// dropped meanwhile, so that what hangs from them is freed in any order.
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/check.h"
#include "lua/native_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char fuzz_source[] =
    "local record, bytes = ...\n"
    "local LIMIT = 65536\n"
    "local function same(a, b)\n"
    "  if #a ~= #b then return false end\n"
    "  for i = 1, #a do\n"
    "    if a[i].key ~= b[i].key or a[i].value ~= b[i].value or #a[i].headers ~= #b[i].headers then return false end\n"
    "    for j, header in ipairs(a[i].headers) do\n"
    "      local other = b[i].headers[j]\n"
    "      if header.key ~= other.key or header.value ~= other.value then return false end\n"
    "    end\n"
    "  end\n"
    "  return true\n"
    "end\n"
    "local position = 1\n"
    "while true do\n"
    "  local batch, err = record.batch(bytes, position, LIMIT)\n"
    "  if not batch then\n"
    "    assert(position <= #bytes == (err ~= nil))\n"
    "    return\n"
    "  end\n"
    "  assert(batch.size >= 14 and position - 1 + batch.size <= #bytes)\n"
    "  local list = record.records(bytes, position, LIMIT, 1000)\n"
    "  local cursor = record.open(bytes, position, LIMIT)\n"
    "  if cursor then cursor:next() end\n"
    "  if list and list[1] then\n"
    "    local again = assert(record.build(list, { limit = 1048576 }))\n"
    "    assert(record.batch(again).is_intact)\n"
    "    assert(same(list, assert(record.records(again, 1, LIMIT))))\n"
    "  end\n"
    "  position = position + batch.size\n"
    "end\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  // A state for each input: what it forgets to free is a leak of this input.
  lua_State *vm = luaL_newstate();
  CHECK(vm != NULL);
  luaL_openlibs(vm);
  CHECK(luaL_loadstring(vm, fuzz_source) == 0);
  native_record_open(vm);
  lua_pushlstring(vm, (const char *)data, size);
  if (lua_pcall(vm, 2, 0, 0) != 0) {
    fprintf(stderr, "%s\n", lua_tostring(vm, -1));
    CHECK(false);
  }
  lua_close(vm);
  return 0;
}
