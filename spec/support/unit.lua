-- SPDX-License-Identifier: Apache-2.0
-- Gives unit specs the C core through FFI: `local C = unit.load("record/batch.h")` preprocesses headers of core/ (and of
-- spec/support/c and build/gen), declares what is new to LuaJIT, and returns ffi.C of the runner, which holds libluka.
local ffi = require "ffi"
local unistd = require "posix.unistd"

local M = {}

local seen = {}

local INCLUDES = "-Icore -Ibuild/gen -Ispec/support/c"

--- Preprocesses headers with stand-ins for the system's own, so that only our declarations come out.
local function preprocess(headers)
  local command = { "printf '" }
  for _, header in ipairs(headers) do command[#command + 1] = ('#include "%s"\\n'):format(header) end
  command[#command + 1] = "' | gcc -E -P -nostdinc -x c -DLUKA_CDEF '-D_Atomic(type)=type' '-D_Alignas(n)=' '-D_Noreturn=' "
    .. "-Ispec/support/include " .. INCLUDES .. " - 2>&1"
  local pipe = assert(io.popen(table.concat(command)))
  local text = pipe:read "*a"
  if not pipe:close() and not text:find "struct" then error("cannot preprocess: " .. text, 3) end
  if text:find "fatal error" then error("cannot preprocess: " .. text, 3) end
  return text
end

--- Splits C text into top-level declarations.
local function declarations(text)
  local out, depth, start = {}, 0, 1
  for at, char in text:gmatch "()([{};])" do
    if char == "{" then
      depth = depth + 1
    elseif char == "}" then
      depth = depth - 1
      -- A function body ends a declaration; a struct's brace is followed by a semicolon.
      if depth == 0 and text:sub(start, at):match "%)%s*{" and not text:sub(start, at):match "^%s*struct%s+[%w_]+%s*{" then
        start = at + 1
      end
    elseif depth == 0 then
      out[#out + 1] = text:sub(start, at)
      start = at + 1
    end
  end
  return out
end

--- Declares what the headers declare, once; returns ffi.C.
---
---@param ... string  headers as the core includes them, "record/batch.h"
function M.load(...)
  for _, declaration in ipairs(declarations(preprocess { ... })) do
    local text = declaration:gsub("^%s+", "")
    if not seen[text] and not text:match "^_Static_assert" and not text:match "^static " then
      seen[text] = true
      local ok, err = pcall(ffi.cdef, text)
      if not ok then error(("cdef of %s: %s"):format(text:sub(1, 400), err), 2) end
    end
  end
  return ffi.C
end

--- A byte string from hexadecimal text; blanks are ignored.
function M.bytes(hex)
  return (hex:gsub("%s", ""):gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end))
end

--- Hexadecimal text of a byte string, or of `size` bytes at a pointer.
function M.hex(bytes, size)
  local text = type(bytes) == "string" and bytes or ffi.string(bytes, size)
  return (text:gsub(".", function(char) return ("%02x"):format(char:byte()) end))
end

--- A writable copy of a byte string as uint8_t[].
function M.buffer(bytes)
  local copy = ffi.new("uint8_t[?]", #bytes + 1)
  ffi.copy(copy, bytes, #bytes)
  return copy
end

--- A fresh folder, removed with all in it when the spec's process ends. In memory, where that can be, for specs that sync
--- very often and need no disk for what they show.
function M.temp_dir(in_memory)
  local base = in_memory and unistd.access("/dev/shm", "w") and "/dev/shm" or os.getenv "LUKA_TEST_TMP" or "/tmp"
  local pipe = assert(io.popen("mktemp -d " .. base .. "/luka-spec.XXXXXX"))
  local path = pipe:read "*l"
  pipe:close()
  M.temp_dirs = M.temp_dirs or {}
  table.insert(M.temp_dirs, path)
  return path
end

--- Writes and reads whole files.
function M.write_file(path, bytes)
  local file = assert(io.open(path, "wb"))
  file:write(bytes)
  file:close()
end

function M.read_file(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local bytes = file:read "*a"
  file:close()
  return bytes
end

return M
