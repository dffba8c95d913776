-- SPDX-License-Identifier: Apache-2.0
-- `luka dump`: finds out by its name what a file is, and has the module for it print or verify it. Folders of
-- partitions and data directories stand for all that is in them.
local data = require "luka.cli.data"
local files = require "luka.dump.file"
local indexes = require "luka.dump.indexes"
local native = require "luka.native.file"
local outputs = require "luka.dump.output"
local segment = require "luka.dump.segment"
local snapshot = require "luka.dump.snapshot"
local text_files = require "luka.dump.text_files"
local verify = require "luka.dump.verify"

local M = {}

---@class (exact) luka.DumpKind
---@field dump fun(file: luka.DumpFile, output: luka.DumpOutput, wish: luka.DumpWish)
---@field verify (fun(file: luka.DumpFile, output: luka.DumpOutput): string)?  what was seen, for the line that says so

local CHECKPOINTS = {
  ["recovery-point-offset-checkpoint"] = "recovery points",
  ["replication-offset-checkpoint"] = "high watermarks",
  ["log-start-offset-checkpoint"] = "log start offsets",
  ["cleaner-offset-checkpoint"] = "offsets that compaction has reached",
}

--- Files that say something by being there.
local MARKERS = {
  [".kafka_cleanshutdown"] = "the last process that used this directory closed it cleanly",
  [".lock"] = "locked by the process that uses this directory; says nothing itself",
}

--- Names that a file gets when it is on its way out or in: deleted, compacted, put in place, cut off by recovery.
local SUFFIXES = { "%.deleted$", "%.cleaned$", "%.swap$", "%.cut$", "%.cut%.%d+$" }

--- A file's name without what says that it is on its way, several times over.
local function bare(name)
  local before
  repeat
    before = name
    for _, suffix in ipairs(SUFFIXES) do name = name:gsub(suffix, "") end
  until name == before
  return name
end

local function listed(dump, read)
  return { dump = dump, verify = function(file, output)
    local entries, wrong = read(file)
    if wrong then output:problem(nil, wrong) end
    return outputs.count(#entries, "entry", "entries")
  end }
end

local function properties(what, separator)
  return listed(function(file, output) text_files.dump_properties(file, output, what, separator) end,
    function(file) return text_files.properties(file, separator) end)
end

--- A file in which there is nothing to look at.
local function said(text)
  return { dump = function(file, output)
    output:file(file.path, text)
    if output.is_json then output:note(nil, text) end
  end }
end

local METASTORE = "the metastore of a Luka broker: topics, configs and ids. `luka console` shows them: topics(), brokers()"

--- What a file is, by its name.
---
---@param name string
---@return luka.DumpKind?
local function kind_of(name)
  if CHECKPOINTS[name] then
    return listed(function(file, output) text_files.dump_checkpoint(file, output, CHECKPOINTS[name]) end, text_files.checkpoint)
  end
  if name == "leader-epoch-checkpoint" then return listed(text_files.dump_epochs, text_files.epochs) end
  if name == "meta.properties" then return properties("whose data directory this is", "=") end
  if name == "partition.metadata" then return properties("the topic's id", ":") end
  if MARKERS[name] then return said(MARKERS[name]) end
  if name:find "%.mdb$" or name:find "%.mdb%-lock$" then return said(METASTORE) end
  local digits, extension = bare(name):match "^(%d+)%.(%a+)$"
  local base = digits and files.number(digits)
  if not base then
    base, extension = 0, bare(name):match "%.(%a+)$"
    if extension ~= "log" then return nil end
  end
  if extension == "log" then
    local is_whole = digits ~= nil and not name:find "%.cut"
    return { dump = segment.dump, verify = function(file, output)
      return verify.segment(file, output, is_whole and base or nil)
    end }
  end
  if extension == "snapshot" then return listed(snapshot.dump, snapshot.read) end
  local index = indexes.KINDS[extension]
  return index and {
    dump = function(file, output, wish) indexes.dump(file, output, wish, index, base) end,
    verify = function(file, output) return verify.index(file, output, index, base) end,
  }
end

--- What comes first when a folder is dumped.
local ORDER = { log = 1, index = 2, timeindex = 3, txnindex = 4, snapshot = 5 }

--- Names in a folder: those of segments by offset and kind, the others behind.
local function sorted(names)
  local keys = {}
  for _, name in ipairs(names) do
    local digits, extension = bare(name):match "^(%d+)%.(%a+)$"
    keys[name] = digits and ("0%20s%d"):format(digits, ORDER[extension] or 9) .. name or "1" .. name
  end
  table.sort(names, function(a, b) return keys[a] < keys[b] end)
  return names
end

---@class (exact) luka.DumpRun
---@field output luka.DumpOutput
---@field wish luka.DumpWish?  nil: verify
---@field fail fun(text: string)  a line about what cannot be opened

--- Dumps or verifies one file. What is not regular, such as a FIFO, is not opened.
local function run_file(run, path, is_regular, is_asked_for)
  local name = path:match "[^/]*$"
  local kind = kind_of(name)
  if not kind then
    if is_asked_for then run.fail(data.plain(path) .. ": no file of a log directory, by its name") end
    return
  end
  if not is_regular then return run.fail(data.plain(path) .. ": no regular file") end
  local file, err = files.open(path)
  if not file then return run.fail(data.plain(err)) end
  if run.wish then
    kind.dump(file, run.output, run.wish)
  else
    if kind.verify then
      run.output:verify(path)
      run.output:verified(kind.verify(file, run.output))
    end
  end
  file:close()
end

local function run_folder(run, folder, depth)
  local names, err = native.list(folder)
  if not names then return run.fail(data.plain(tostring(err))) end
  local prefix = folder:sub(-1) == "/" and folder or folder .. "/"
  for _, name in ipairs(sorted(names)) do
    local kind, why = native.kind(prefix .. name)
    if kind == "folder" then
      if depth == 0 then run_folder(run, prefix .. name, depth + 1) end
    elseif kind then
      run_file(run, prefix .. name, kind == "file", false)
    elseif kind_of(name) then
      run.fail(data.plain(tostring(why)))
    end
  end
end

--- Dumps or verifies what a path names.
---
---@param run luka.DumpRun
---@param path string
function M.run(run, path)
  local kind, err = native.kind(path)
  if kind == "folder" then return run_folder(run, path, 0) end
  if not kind then return run.fail(data.plain(tostring(err))) end
  run_file(run, path, kind == "file", true)
end

return M
