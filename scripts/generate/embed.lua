-- SPDX-License-Identifier: Apache-2.0
-- Turns the sources below <root>/luka into a C file with a table of modules (core/lua/modules.h), and with them the
-- protocol schemas that luka/wire/apis.lua lists, as luka.wire.schema.<name>, and luka.wire.error_codes. Text, not
-- bytecode, serves every target of a cross build and every LuaJIT. The file is written only when it changes.
-- usage: luajit scripts/generate/embed.lua <root> <core/wire> <out.c>
local root, wire, out = arg[1], arg[2], arg[3]
if not root or not wire or not out then
  io.stderr:write "usage: luajit scripts/generate/embed.lua <root> <core/wire> <out.c>\n"
  os.exit(2)
end

local function read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read "*a"
  file:close()
  return text
end

local function fail(...)
  io.stderr:write("embed.lua: ", string.format(...), "\n")
  os.exit(1)
end

--- Names of the Lua files below a folder, relative to the root.
local function list()
  local pipe = assert(io.popen(("cd '%s' && find luka -type f -name '*.lua'"):format(root)))
  local paths = {}
  for path in pipe:lines() do paths[#paths + 1] = path end
  pipe:close()
  return paths
end

local ESCAPES = { ["\\"] = "\\\\", ['"'] = '\\"', ["\t"] = "\\t", ["\r"] = "\\r", ["?"] = "\\?" }

--- One line of source as a C string literal.
local function literal(line)
  return '"' .. line:gsub('[%c\\"?\127-\255]', function(char)
    return ESCAPES[char] or ("\\%03o"):format(char:byte())
  end) .. '\\n"'
end

local modules = {}

--- Adds the module of a file; `path` is where LUKA_LUA_PATH finds it, relative to that folder.
local function add(name, path, file)
  local text = read(file)
  if not text then fail("cannot read %s", file) end
  local chunk, err = loadstring(text, "@" .. file)
  if not chunk then fail("%s", err) end
  if text:sub(-1) ~= "\n" then text = text .. "\n" end
  modules[#modules + 1] = { name = name, path = path, text = text }
end

for _, path in ipairs(list()) do
  add(path:gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", "."), path, root .. "/" .. path)
end
for _, name in ipairs(dofile(root .. "/luka/wire/apis.lua")) do
  add("luka.wire.schema." .. name, ("../%s/schema/%s.lua"):format(wire, name), ("%s/schema/%s.lua"):format(wire, name))
end
add("luka.wire.error_codes", ("../%s/error_codes.lua"):format(wire), wire .. "/error_codes.lua")
table.sort(modules, function(a, b) return a.name < b.name end)

local lines = {
  "// Made by scripts/generate/embed.lua; do not edit.",
  '#include "lua/modules.h"',
  "",
  "const struct lua_module lua_modules[] = {",
}
local function put(...) lines[#lines + 1] = string.format(...) end
for _, module in ipairs(modules) do
  put('  {"%s", "%s",', module.name, module.path)
  for line in module.text:gmatch "(.-)\n" do lines[#lines + 1] = literal(line) end
  put("  , %d},", #module.text)
end
put "};"
put("const size_t lua_modules_count = %d;", #modules)

local text = table.concat(lines, "\n") .. "\n"
if read(out) ~= text then
  local file = assert(io.open(out .. ".tmp", "wb"))
  file:write(text)
  file:close()
  assert(os.rename(out .. ".tmp", out))
end
