-- SPDX-License-Identifier: Apache-2.0
--
-- Generates the C codec of the protocol from the schemas:
--
--   luajit scripts/generate/wire.lua core/wire/schema build/gen/wire
--
-- Reads core/wire/schema/*.lua and core/wire/error_codes.lua (the form of a schema: core/wire/README.md). Writes one .h
-- and one .c per schema file, and apis.h, apis.c, error_codes.h, error_codes.c. A file is written only when its text
-- changes, so that make compiles only what is affected; generated files whose schema is gone are removed. A schema that
-- breaks a rule stops it with one line, "file:line: what", and status 1.

local here = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = here .. "/?.lua;" .. package.path

local schema = require "wire.schema"
local header = require "wire.header"
local source = require "wire.source"
local tables = require "wire.tables"
local output = require "wire.output"

local function main(schema_dir, out_dir)
  if not out_dir then
    return nil, "usage: luajit scripts/generate/wire.lua SCHEMA_DIR OUTPUT_DIR"
  end
  local files, err = schema.load_dir(schema_dir)
  if not files then
    return nil, err
  end
  local codes
  codes, err = tables.load_codes(schema_dir .. "/../error_codes.lua")
  if not codes then
    return nil, err
  end
  local out = output.new(out_dir)
  for _, file in ipairs(files) do
    out:put(file.base .. ".h", header.file(file))
    out:put(file.base .. ".c", source.file(file))
  end
  out:put("apis.h", tables.apis_header(files))
  out:put("apis.c", tables.apis_source(files))
  out:put("error_codes.h", tables.codes_header(codes))
  out:put("error_codes.c", tables.codes_source(codes))
  return out:finish()
end

local ok, err = main(arg[1], arg[2])
if not ok then
  io.stderr:write(err, "\n")
  os.exit(1)
end
