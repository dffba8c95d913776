-- SPDX-License-Identifier: Apache-2.0
-- `luka help`: the list of verbs, or all about a verb, a block or a key of a configuration.
local text = require "luka.cli.text"
local verbs = require "luka.cli.verbs"

local M = {}

local function list()
  local out = {
    "usage: luka [serve] [CONFIG.LUA] [--set KEY=VALUE ...]",
    "       luka VERB [arguments] [options]",
    "",
    text.wrap("A message broker that speaks Apache Kafka's protocol, keeps its on-disk format and is configured in Lua."),
    "",
  }
  for _, name in ipairs(verbs.NAMES) do out[#out + 1] = ("  %-8s  %s"):format(name, verbs.get(name).summary) end
  out[#out + 1] = ""
  out[#out + 1] = "`luka help VERB` says all about a verb, `luka help KEY` about a key of config.lua or a config of Kafka's;"
  out[#out + 1] = "`luka help broker`, `luka help defaults` and `luka help topic` list the keys; `luka help hook` is about a word of it."
  return table.concat(out, "\n") .. "\n"
end

--- The keys of a block; nil when it is none.
local function block(name)
  local schema = require "luka.config.schema"
  local describe = require "luka.config.describe"
  local is_block = false
  for _, known in ipairs(schema.BLOCKS) do is_block = is_block or known == name end
  if not is_block then return nil end
  local rows = {}
  for _, about in ipairs(describe.block(name)) do rows[#rows + 1] = { about.key, about.text } end
  local head = name == "topic" and 'topic "name" { ... }' or name .. " { ... }"
  return ("The keys of %s. `luka help KEY` says what one takes.\n\n%s\n"):format(head, text.columns(rows))
end

--- A broker config of Kafka's that is no key here; nil for other names.
local function foreign(name)
  local kafka = require "luka.config.kafka"
  local key, dotted = kafka.snake(name), kafka.dotted(name)
  local instead = kafka.FOREIGN[dotted]
  local def = kafka.BROKER[dotted]
  if instead then return ("%s, Kafka's %s\n  Is set by %s here.\n"):format(key, dotted, instead) end
  if instead == false or def and not def.is_supported then
    return ("%s, Kafka's %s\n  Is not supported yet.\n"):format(key, dotted)
  end
  return nil
end

--- Raises that there is nothing of that name.
local function refuse(name, nearest_key)
  local suggest = require "luka.config.suggest"
  local shown = name:sub(1, 100)
  local nearest = suggest.nearest(name, { suggest.nearest(name, verbs.NAMES) or nearest_key, nearest_key })
  local message = nearest and ("there is no verb or key '%s', did you mean %s?"):format(shown, nearest)
    or ("there is no verb or key '%s'; `luka help` lists the verbs, `luka help broker` and `luka help topic` the keys"):format(shown)
  error({ code = "usage", message = message }, 0)
end

--- What to say of a key of config.lua that is to come; nil when it is none.
local function later(name)
  local schema = require "luka.config.schema"
  local key = require("luka.config.names").snake(name)
  if not schema.BROKER_LATER[key] then return nil end
  return ("%s is not supported yet.\n"):format(name)
end

---@param _ luka.GivenOptions
---@param arguments string[]
---@return integer status
function M.run(_, arguments)
  local name = arguments[1]
  if not name then
    io.stdout:write(list())
    return 0
  end
  if verbs.is_verb(name) then
    io.stdout:write(text.verb(name))
    return 0
  end
  local about, nearest = block(name), nil
  if not about then about, nearest = require("luka.config.schema").describe(name) end
  about = about or foreign(name) or later(name) or require("luka.config.word_texts").describe(name)
  if not about then refuse(name, nearest) end
  io.stdout:write(about)
  return 0
end

return M
