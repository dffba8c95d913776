-- SPDX-License-Identifier: Apache-2.0
-- Evaluates a configuration: the file (if any), then --set. Called by core/lua/config.c, which gives the host
-- functions.
local environment = require "luka.sandbox.environment"
local explain = require "luka.config.explain"
local failure = require "luka.config.failure"
local modules = require "luka.sandbox.modules"
local new_settings = require("luka.config.settings").new
local words_of = require "luka.config.words"

---@class (exact) luka.Host
---@field is_deep fun(): boolean  whether C and Lua are nested too deep
---@field position fun(): string?, integer?  file and line where user code ran last
---@field read fun(path: string): string?, string?, boolean?  a file; or nil, why not, whether it is missing
---@field print fun(text: string)  to the broker's log
---@field broker_types table<string, string>  Kafka's type of each broker config
---@field topic_types table<string, string>
---@field topic_broker_names table<string, string>  the broker config that is a topic config's default
---@field memory_bytes integer  what the evaluation may use
---@field foreign fun(name: string): string?  what to say about a broker config of Kafka's that is not served here
---@field check_broker fun(name: string, text: string): string?  what the config takes, when the text is not that
---@field check_topic fun(name: string, text: string): string?
---@field check_topic_name fun(name: string): string?  what is wrong, or nil; the same for the rest
---@field check_listen fun(text: string): string?
---@field check_advertised fun(text: string): string?
---@field set_broker fun(name: string, text: string, path: string, place: string): string?  keeps it
---@field resolve_broker fun(): string?
---@field resolve_topic fun(configs: table): string?

---@class (exact) luka.Files
---@field by_path table<string, { text: string, blocks: table<integer, luka.SourceBlock[]>? }>
---@field short table<string, string>  how Lua cuts a long path in its messages, and the path
---@field position fun(): luka.Origin

local M = {}

local function add_file(files, path, text)
  files.by_path[path] = { text = text }
  local short = debug.getinfo(load("", "@" .. path), "S").short_src
  files.short[short] = path
end

--- Splits "config.lua:3: text" into path, line and text, for the files that were loaded. Of several places (an error
--- that passed coroutines has one for each) the last, where it happened, is taken.
local function split(files, message)
  local path, line
  local text = message
  local is_found = true
  while is_found do
    is_found = false
    for short, full in pairs(files.short) do
      if text:sub(1, #short + 1) == short .. ":" then
        local digits, rest = text:match("^(%d+): (.*)$", #short + 2)
        if digits then
          path, line, text, is_found = full, tonumber(digits), rest, true
        end
      end
    end
  end
  return path, line, (text:gsub("^luka/[%w_/]+%.lua:%d+: ", ""))
end

--- A line of a file that was loaded, "" when there is none.
local function source_line(files, where)
  local file = files.by_path[where.source]
  local number = 1
  for line in ((file and file.text or "") .. "\n"):gmatch "([^\n]*)\n" do
    if number == where.line then return line end
    number = number + 1
  end
  return ""
end

--- Clearer words for what Lua says.
local function reword(host, files, env, where, text)
  if text == "not enough memory" then
    return ("not enough memory: evaluation may use %d MiB"):format(host.memory_bytes / 1048576)
  end
  return explain.message(text, source_line(files, where), env)
end

--- The message for whatever user code raised.
local function describe(host, files, env, err)
  if failure.is(err) then return err.message end
  if type(err) ~= "string" then
    local where = files.position()
    return failure.new(where, nil, ("the error raised is a %s, not a text"):format(type(err))).message
  end
  local path, line, text = split(files, err)
  local where = path and { source = path, line = line } or files.position()
  return failure.new(where, nil, reword(host, files, env, where, text)).message
end

local function folder_of(path)
  return path:match "^(.*/)[^/]*$" or ""
end

--- Prints one line to the log, with the place of the call.
local function printer(host)
  return function(...)
    local parts = {}
    for i = 1, select("#", ...) do parts[i] = tostring((select(i, ...))) end
    local info = debug.getinfo(2, "Sl")
    local where = info and info.source:match "^@(.*)"
    local text = table.concat(parts, " ")
    host.print(failure.one_line(where and ("%s:%d: %s"):format(where, info.currentline, text) or text))
  end
end

--- Evaluates one configuration.
---
---@param host luka.Host
---@param path string?  nil: no file, all is default
---@param sets { [1]: string, [2]: string }[]
---@param is_debug boolean  add a traceback to errors of the file
---@return table? result  as luka.Settings.finish gives it
---@return string? message  one line
---@return string? trace
function M.load(host, path, sets, is_debug)
  environment.seal(host)
  local files = { by_path = {}, short = {} }
  function files.position()
    local source, line = host.position()
    return { source = source or path or "--set", line = line }
  end
  local settings = new_settings(host)
  local env = environment.new(host, words_of.new(files, settings))
  env.print = printer(host)
  local trace

  local function run()
    if path then
      local function add(file, text) add_file(files, file, text) end
      local text, err = host.read(path)
      if not text then failure.raise({ source = path }, nil, "%s", err) end
      add(path, text)
      local chunk = modules.compile(path, text, env)
      env.require = modules.new(host, env, folder_of(path), add)
      chunk()
    end
    settings:override(sets)
    return settings:finish()
  end
  local ok, result = xpcall(run, function(err)
    if is_debug then trace = debug.traceback(failure.is(err) and err.message or tostring(err), 2) end
    return err
  end)
  if ok then return result end
  return nil, failure.one_line(describe(host, files, env, result)), trace
end

return M
