-- SPDX-License-Identifier: Apache-2.0
-- Writes the files that are made from the sources, see scripts/docs/files.lua; with --check it only says of each whether
-- it is up to date, "fresh PATH" or "stale PATH", with status 1 when one is stale. `make docs` calls it.
-- usage: luka-spec --lua scripts/docs.lua [--check]
local files = require "scripts.docs.files"

local is_check = arg[1] == "--check"

local function read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read "*a"
  file:close()
  return text
end

local stale = 0
for _, entry in ipairs(files) do
  local text = entry.text()
  local is_fresh = read(entry.path) == text
  if not is_fresh then stale = stale + 1 end
  if is_check then
    print((is_fresh and "fresh " or "stale ") .. entry.path)
  elseif not is_fresh then
    local folder = entry.path:match "^(.*)/"
    if folder then assert(os.execute(("mkdir -p '%s'"):format(folder)) == 0) end
    local file = assert(io.open(entry.path, "wb"))
    assert(file:write(text))
    assert(file:close())
    print("wrote " .. entry.path)
  end
end
return is_check and stale or 0
