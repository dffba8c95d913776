-- SPDX-License-Identifier: Apache-2.0
-- on.request() and off(): functions that see requests, and may delay or refuse them. trace(): what a client asks for and
-- is answered.
local arguments = require "luka.admin.arguments"
local environment = require "luka.sandbox.environment"
local errors = require "luka.errors"
local lines = require "luka.words.trace"
local served = require "luka.wire.served"
local suggest = require "luka.config.suggest"

local M = {}

---@type luka.Word[]
M.entries = {
  { name = "on", group = "broker", type = "{ request: fun(api: string, fn: fun(request: luka.ProbedRequest)) }",
    text = "Has a function see requests, and delay or fail them.",
    usage = 'on.request("Fetch", function(request) ... end)',
    about = "The function gets request.api, version, client_id, address, correlation_id, size and body, with fields as the "
      .. "protocol names them, in snake_case: request.body.topics[1].topic. It decides by request:delay(ms), "
      .. "request:fail(\"NOT_LEADER_OR_FOLLOWER\"), which answers each partition or topic that was asked for with that "
      .. "error (or the whole request, with { at = \"request\" }), request:close(), which closes the connection, and "
      .. "request:drop(), after which the client waits for an answer in vain. Otherwise the request goes on when the "
      .. "function has returned.\n\nIt may take 800 ms; when it takes longer or fails, the request goes on untouched, and "
      .. "the log and policies() say why. It is there until off(), or until this console ends. What consoles and hooks ask "
      .. "for themselves is not shown to it.",
    example = 'on.request("Fetch", function(request) if request.client_id == "slow" then request:delay(200) end end)' },
  { name = "off", group = "broker", type = "fun(api?: string): integer",
    text = "Takes off what this console's on.request() put on.",
    usage = 'off([request])',
    about = "Without a request it takes all of them off; it says how many that were. Those of config.lua stay.",
    example = 'off "Fetch"' },
  { name = "trace", group = "broker", type = "fun(part?: string, seconds?: number)",
    text = "Prints what a client asks for and is answered, until Ctrl-C.",
    usage = "trace([part of a client id] [, seconds])",
    about = "A line for each request, with the topics that it names, and one for its answer, with the first error in it and "
      .. "the time it took. Lines that come faster than they can be shown are left out, and counted.",
    example = 'trace("rdkafka", 0.2)' },
}

--- The name of a request.
local function check_api(where, name)
  if type(name) ~= "string" then arguments.refuse(where, name, 'the name of a request: "Fetch"') end
  if served.key(name) then return name end
  local known = served.names()
  local nearest = suggest.nearest(name:sub(1, 80):lower(), known) or suggest.nearest(name:sub(1, 80), known)
  errors.raise("usage", '%s: there is no request "%s"%s', where, name:sub(1, 80),
    nearest and (', did you mean "%s"?'):format(nearest) or ": requests() lists those that came")
end

--- Where a function stands: "console:1".
local function place_of(fn)
  local info = debug.getinfo(fn, "S")
  return ("%s:%d"):format(info.source:match "^@?(.*)", info.linedefined)
end

---@param context luka.Words.Context
---@return table<string, any> words
function M.new(context)
  local words = {}

  words.on = environment.read_only({
    request = function(name, fn)
      local api = check_api("on.request", name)
      if type(fn) ~= "function" then
        arguments.refuse("on.request", fn, 'a function: on.request("Fetch", function(request) request:delay(200) end)')
      end
      context.probes.add(api, fn, place_of(fn))
    end,
  }, "on")

  function words.off(name)
    return context.probes.remove(name ~= nil and check_api("off", name) or nil)
  end

  function words.trace(part, seconds)
    if type(part) == "number" and seconds == nil then part, seconds = nil, part end
    if part ~= nil and (type(part) ~= "string" or #part > 200) then
      arguments.refuse("trace", part, 'a part of a client id, or seconds: trace "rdkafka"')
    end
    if seconds ~= nil and not (type(seconds) == "number" and seconds >= 0.1 and seconds <= 86400) then
      arguments.refuse("trace: seconds", seconds, "from 0.1 to 86400")
    end
    local trace = context.probes.trace(part or "", seconds)
    while true do
      local line, dropped = trace:next()
      if not line then return end
      if dropped > 0 then context.task.print(("(%.0f lines were left out)"):format(dropped)) end
      context.task.print(lines.format(context, line.note, line.body))
    end
  end

  return words
end

return M
