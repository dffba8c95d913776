-- SPDX-License-Identifier: Apache-2.0
-- A request as functions of on.request see it: what it says, and what they decide about it.
local clock = require "luka.native.clock"
local codec = require "luka.wire.codec"
local error_codes = require "luka.wire.error_codes"
local errors = require "luka.errors"
local suggest = require "luka.config.suggest"
local refusal = require "luka.wire.refusal"

local M = {}

--- Longest delay, ms; core/policy/probes.h has the same.
M.DELAY_MAX_MS = 3600000

local CODES = {}
for _, entry in ipairs(error_codes) do
  if entry[1] ~= 0 then CODES[entry[2]] = entry[1] end
end

---@class luka.ProbedRequest
---@field api string            "Fetch"
---@field version integer       of the api
---@field client_id string      "" when the client gives none
---@field address string        of the client, with its port
---@field correlation_id integer
---@field size integer          bytes of the whole request
---@field body table?           decoded, with fields in snake_case as in core/wire/schema; nil beyond 4 MiB
---@field delay fun(self: luka.ProbedRequest, ms: number)
---@field fail fun(self: luka.ProbedRequest, code: string, options: { at: "request"|"each"|nil, message: string? }?)
---@field close fun(self: luka.ProbedRequest)
---@field drop fun(self: luka.ProbedRequest)

--- What is known of each request, where functions cannot reach it.
local states = setmetatable({}, { __mode = "k" })

local methods = {}

--- The state of a request that may still be decided about.
local function state_of(request, method)
  local state = type(request) == "table" and states[request]
  if not state then errors.raise("usage", "request:%s is called with a colon: request:%s(...)", method, method) end
  if state.is_over then errors.raise("usage", "request:%s: the request has gone on already", method) end
  if state.outcome then errors.raise("usage", "request:%s: it was decided already: %s", method, state.outcome) end
  return state
end

function methods.delay(request, ms)
  local state = state_of(request, "delay")
  if type(ms) ~= "number" or not (ms >= 0 and ms <= M.DELAY_MAX_MS) then
    errors.raise("usage", "request:delay: expected milliseconds from 0 to %d: request:delay(200)", M.DELAY_MAX_MS)
  end
  state.delay_ms = math.min(state.delay_ms + math.floor(ms), M.DELAY_MAX_MS)
end

local function code_of(name)
  if type(name) ~= "string" then
    errors.raise("usage", 'request:fail: expected Kafka\'s name of an error: request:fail("NOT_LEADER_OR_FOLLOWER")')
  end
  local code = CODES[name]
  if code then return code end
  local names = {}
  for known in pairs(CODES) do names[#names + 1] = known end
  local nearest = suggest.nearest(name:upper():sub(1, 80), names)
  errors.raise("usage", 'request:fail: there is no error "%s"%s', name:sub(1, 80),
    nearest and (', did you mean "%s"?'):format(nearest) or " in Kafka's protocol")
end

--- The brokers of a Metadata answer, without which clients ignore it: asked for as any client could.
local function add_brokers(state, answer)
  local request = codec.request("Metadata", state.version, { topics = {} }, 0, codec.NULL)
  local brokers = codec.response("Metadata", state.version, state.transport:call(request))
  answer.brokers, answer.cluster_id, answer.controller_id = brokers.brokers, brokers.cluster_id, brokers.controller_id
end

function methods.fail(request, name, options)
  local state = state_of(request, "fail")
  local code = code_of(name)
  options = options == nil and {} or options
  if type(options) ~= "table" then errors.raise("usage", 'request:fail: expected options: { at = "request" }') end
  local at, message = rawget(options, "at"), rawget(options, "message")
  if at ~= nil and at ~= "request" and at ~= "each" then
    errors.raise("usage", 'request:fail: at is "request" or "each"')
  end
  if message ~= nil and (type(message) ~= "string" or #message > 1000) then
    errors.raise("usage", "request:fail: message is a text of at most 1000 bytes")
  end
  local body = request.body
  if not body then errors.raise("too_large", "request:fail: the request is too large to be read here: close or delay it") end
  local answer = refusal.response(state.api, state.version, body, name, code, at, message)
  if state.api == "Metadata" then add_brokers(state, answer) end
  state.answer = codec.encode(state.api .. "Response", state.version, answer)
  state.outcome, state.code = "answer", code
end

function methods.close(request) state_of(request, "close").outcome = "close" end

function methods.drop(request) state_of(request, "drop").outcome = "drop" end

local meta = { __metatable = false }

function meta.__index(request, key)
  local state = states[request]
  if key == "body" then
    if not state.is_read and not state.is_over then
      local bytes = state.read()
      state.body = bytes and codec.decode(state.api .. "Request", state.version, bytes) or nil
      state.is_read = true
    end
    return state.body
  end
  local value = state.fields[key]
  if value == nil then value = methods[key] end
  return value
end

function meta.__newindex() errors.raise("usage", "a request cannot be changed: delay, fail, close and drop are its methods") end

function meta.__tostring(request)
  local fields = states[request].fields
  return ("%s v%d of %s"):format(fields.api, fields.version, fields.client_id ~= "" and fields.client_id or fields.address)
end

--- A request.
---
---@param fields table
---@param read fun(): string?  gives its body's bytes
---@param transport luka.Transport
---@return luka.ProbedRequest
function M.new(fields, read, transport)
  local request = setmetatable({}, meta)
  states[request] = { fields = fields, api = fields.api, version = fields.version, read = read, transport = transport,
    delay_ms = 0, since = clock.now() }
  return request
end

--- What is decided before a function runs: for undo().
function M.begin(request) return states[request].delay_ms end

--- A function failed: what it decided does not count.
function M.undo(request, delay_ms)
  local state = states[request]
  state.delay_ms, state.outcome, state.answer, state.code = delay_ms, nil, nil, nil
end

--- Whether it is decided what becomes of it.
function M.has_outcome(request) return states[request].outcome ~= nil end

--- What was decided: outcome (nil: it goes on), delay_ms, answer, code. Nothing more may be.
function M.finish(request)
  local state = states[request]
  state.is_over = true
  return state
end

return M
