-- SPDX-License-Identifier: Apache-2.0
-- Evaluates a configuration: the file (if any), then --set. Called by core/lua/config.c, which gives the host
-- functions.
local blocks = require "luka.config.blocks"
local environment = require "luka.sandbox.environment"
local explain = require "luka.config.explain"
local failure = require "luka.config.failure"
local globals = require "luka.config.globals"
local json = require "luka.native.json"
local load_policies = require("luka.policy.load").load
local modules = require "luka.sandbox.modules"
local new_policies = require("luka.config.policies").new
local new_settings = require("luka.config.settings").new
local report = require "luka.config.report"
local source = require "luka.config.source"
local value_of = require "luka.config.value"
local warnings = require "luka.config.warnings"
local words_of_functions = require "luka.policy.words"
local words_of = require "luka.config.words"

---@class (exact) luka.Host
---@field is_deep fun(): boolean  whether C and Lua are nested too deep
---@field position fun(): string?, integer?  file and line where user code ran last
---@field read fun(path: string): string?, string?, boolean?  a file; or nil, why not, whether it is missing
---@field print fun(text: string)  to the broker's log
---@field log fun(level: string, text: string)  the same, at a level
---@field builtin_partitioner fun(name: string): boolean, string?  whether it is one; false and a sentence: a wrong one
---@field memory_bytes integer  what the evaluation may use
---@field check_broker fun(name: string, text: string): string?  what the config takes, when the text is not that
---@field check_topic fun(name: string, text: string): string?
---@field check_topic_name fun(name: string): string?  what is wrong, or nil; the same for the rest
---@field check_listen fun(text: string): string?
---@field check_advertised fun(text: string): string?
---@field set_broker fun(name: string, text: string, path: string, place: string): string?  keeps it
---@field clear_broker fun()  forgets what set_broker kept
---@field resolve_broker fun(): string?
---@field resolve_topic fun(configs: table): string?

---@class (exact) luka.Files
---@field by_path table<string, { text: string, blocks: table<integer, luka.SourceBlock[]>? }>
---@field order string[]  their paths as they were read
---@field short table<string, string>  how Lua cuts a long path in its messages, and the path
---@field position fun(): luka.Origin

local M = {}

local INT64_MAX = "9223372036854775807"

local AHEAD_SECONDS = ((400 * 24 + 12) * 60 + 31) * 60 + 1

local function add_file(files, path, text)
  files.by_path[path] = { text = text }
  files.order[#files.order + 1] = path
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
local function reword(host, files, where, text)
  if text == "not enough memory" then
    return ("not enough memory: evaluation may use %d MiB"):format(host.memory_bytes / 1048576)
  end
  return explain.message(text, source_line(files, where))
end

--- The text of an error that may be anything: a table tells its own, if it can.
local function text_of(err)
  if type(err) == "string" or type(err) == "number" then return tostring(err) end
  local meta = type(err) == "table" and debug.getmetatable(err)
  if type(meta) == "table" and rawget(meta, "__tostring") then
    local is_told, text = pcall(tostring, err)
    if is_told and type(text) == "string" then return text end
  end
  return nil
end

--- The message for whatever user code raised.
local function describe(host, files, err)
  if failure.is(err) then return failure.cut(err.message) end -- or what looks like one of ours
  local raised = text_of(err)
  if not raised then
    return failure.new(files.position(), nil, ("the error raised is a %s, not a text"):format(type(err))).message
  end
  local path, line, text = split(files, failure.cut(raised))
  local where = path and { source = path, line = line } or files.position()
  return failure.new(where, nil, reword(host, files, where, text)).message
end

local function folder_of(path)
  return path:match "^(.*/)[^/]*$" or ""
end

--- Prints one line to the log, with the place of the call.
local function printer(host)
  return function(...)
    local parts = {}
    for i = 1, select("#", ...) do parts[i] = words_of_functions.shown((select(i, ...))) end
    local info = debug.getinfo(2, "Sl")
    local where = info and info.source:match "^@(.*)"
    local text = table.concat(parts, " ")
    host.print(failure.one_line(where and ("%s:%d: %s"):format(where, info.currentline, text) or text))
  end
end

--- Refuses integers that LuaJIT reads as others: 9223372036854775808LL wraps round.
local function check_digits(path, text)
  if not text:find "%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d[lL][lL]" then return end
  local tokens = source.tokens(text)
  for i = 1, tokens.count do
    local digits = tokens.kinds[i] == "other" and tokens.texts[i]:match "^0*(%d+)[lL][lL]$"
    if digits and (#digits > #INT64_MAX or #digits == #INT64_MAX and digits > INT64_MAX) then
      failure.raise({ source = path, line = tokens.lines[i] }, nil, "%s is more than 64 bits hold: at most %sLL",
        tokens.texts[i], INT64_MAX)
    end
  end
end

--- Runs the file and checks that somebody heeds what it says.
local function run_file(host, files, path, words, settings)
  local function add(file, text)
    add_file(files, file, text)
    check_digits(file, text)
  end
  local text, err = host.read(path)
  if not text then failure.raise({ source = path }, nil, "%s", err) end
  add(path, text)
  local bare, unlock = environment.new(host, {})
  local env = globals.new(bare, words)
  env.print = printer(host)
  local module_host = { is_deep = host.is_deep, read = host.read, is_unsafe = function() return settings.is_unsafe end }
  env.require = modules.new(module_host, env, folder_of(path), add)
  settings:when_unsafe(unlock)
  local value = modules.compile(path, text, env)()
  if value ~= nil then
    failure.raise(files.position(), nil, "returns %s, which nobody reads; write broker { ... }, defaults { ... } and "
      .. 'topic "name" { ... }', value_of.show(value))
  end
  globals.check_unread(env, files)
end

--- Whether a file says something, and no block of it would ever set anything: `broker = { ... }` for `broker { ... }`.
local function is_idle(files)
  local has_text = false
  for _, file in pairs(files.by_path) do
    has_text = has_text or source.tokens(file.text).count > 0
    if #source.blocks(file.text, blocks.WORDS) > 0 then return false end
  end
  return has_text
end

--- A second evaluation, as those of the threads that are to run its functions, with clocks that are ahead: by so much that
--- year, month, weekday, half of the day and whether the number of seconds is even are others. What is raised is not
--- told: nobody says that the configuration has to be good for longer.
---
---@return string? message  the configuration is another one each time
local function evaluate_again(host, policies, is_unsafe)
  local again = { is_deep = host.is_deep, log = function() end, is_unsafe = is_unsafe, expected = policies.list,
    seconds_ahead = AHEAD_SECONDS }
  math.randomseed(0) -- as in a new state
  local list, message, is_another = load_policies(policies.sources, again)
  return not list and is_another and failure.one_line(message) or nil
end

--- Evaluates one configuration.
---
---@param host luka.Host
---@param path string?  nil: no file, all is default
---@param sets { [1]: string, [2]: string }[]
---@param is_debug boolean  add a traceback to errors of the file
---@param wants_report boolean  give the result a function `report` that makes what luka.config.report tells, as JSON
---@return table? result  as luka.Settings.finish gives it
---@return string? message  one line
---@return string? trace
function M.load(host, path, sets, is_debug, wants_report)
  environment.seal(host)
  local files = { by_path = {}, order = {}, short = {} }
  function files.position()
    local file, line = host.position()
    return { source = file or path or "--set", line = line }
  end
  local settings = new_settings(host, new_policies(host, files))
  local words, calls = words_of.new(files, settings)
  local trace

  local function run()
    settings:override_unsafe(sets)
    if path then
      run_file(host, files, path, words, settings)
      if calls.count == 0 and is_idle(files) then
        failure.raise({ source = path }, nil, 'sets nothing; write broker { ... }, defaults { ... } and topic "name" '
          .. "{ ... }")
      end
    end
    settings:override(sets)
    local result = settings:finish()
    result.warnings = warnings.of(settings, wants_report)
    if result.policies and #result.policies.list > 0 then
      result.again = function() return evaluate_again(host, result.policies, settings.is_unsafe) end
    end
    if wants_report then
      result.report = function() return json.encode(report.of(settings, result)) end
    end
    return result
  end
  local ok, result = xpcall(run, function(err)
    if is_debug then trace = debug.traceback(failure.is(err) and err.message or type(err) == "string" and err or "", 2) end
    return err
  end)
  if ok then return result end
  return nil, failure.one_line(describe(host, files, result)), trace
end

return M
