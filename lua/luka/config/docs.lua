-- SPDX-License-Identifier: Apache-2.0
-- docs/config.md: how a configuration is written, and all of its keys, from the schema. Made by `make docs`.
local describe = require "luka.config.describe"
local schema = require "luka.config.schema"
local word_texts = require "luka.config.word_texts"

local M = {}

local HEAD = [=[
# The configuration

<!-- Made by `make docs` from lua/luka/config/; do not edit. -->

`luka serve config.lua` evaluates a Lua file and starts a broker with what it says. Without a file all is default.
`luka check config.lua` shows what would be applied, and where each value comes from, and starts nothing;
`luka help KEY` says what this page says about one key.

```lua
broker {
  id = 1,
  listen = { "127.0.0.1:9092" },
  data = { "data/a", "data/b" },
  log_retention_check_interval_ms = minutes(5),
}

defaults { partitions = 3, retention_ms = days(7) }

topic "clicks" {
  partitions = 6,
  segment_bytes = 512 * MiB,
  compression_type = "lz4",
}
```

## Words

@WORDS@

[policies.md](policies.md) is about functions: what each is given and may return, which words they use, and their limits.

Kafka's configs have their Kafka names with `_` for `.`: `retention.ms` is `retention_ms`. A key that is unknown, stands
in the wrong block, or is given twice is an error that says what to write.

A topic block is applied when it is new or has changed: a topic that is missing is created, one that is there gets the
block's configs and further partitions. Nothing is taken away: a key or a block that is removed leaves what it set. What
a client changes later stands until the block changes.

## Values

- Numbers are plain: milliseconds for keys that end in `_ms`, bytes for those that end in `_bytes`. Texts with a unit are
  refused, as `"10MB"` means different things to different people: the error says to write `10 * MiB`, or `days(7)` for
  `"7d"`.
- Lua's numbers are exact below 2^53. Larger ones are written with `LL` behind them, or as a text, and keep all digits:
  `9223372036854775807LL`, `"9223372036854775807"`. A plain number from 2^53 on is refused.
- A list is a table, `{ "compact", "delete" }`; a list of one may be written without the braces. An empty list is `{}`.
- A key whose value is `nil` is not there.
- Of `log_retention_ms`, `log_retention_minutes` and `log_retention_hours` the first that is given wins, as in Kafka; so
  with `log_roll_ms` and `log_roll_jitter_ms` and their `_hours`.

## The program

The file is a program in Lua 5.1 (LuaJIT): variables, functions and loops work. It can reach `string`, `table`, `math`,
`bit`, `coroutine`, a few functions of `os` (`clock date difftime getenv time`) and what is plain: `pairs`, `pcall`,
`setmetatable` and the like. Files, programs, the network, bytecode and `debug` are out of reach. With
`broker { unsafe = true }`, what comes after it has `io`, `require "ffi"`, and of `os` also `execute remove rename tmpname`.

- Reading a global that nothing has set is an error, as it is a misspelt word most of the time. `rawget(_G, "name")` asks
  whether there is one.
- Evaluation may take 800 ms of processor time and 64 MiB, a file 1 MiB, a configuration %d topics.
- The file may be a pipe, `luka serve <(generate)`; it may be silent for 900 ms, and take 4 seconds in all.

An error is one line, with file and line, key, value and what is allowed, and exit status 2:

    config.lua:3: broker.wokers: unknown key, did you mean workers?
    config.lua:7: topic "clicks".retention_ms: got "7d", expected a whole number of ms, at least -1; write days(7)

`--debug` adds a traceback of Lua.

## --set

`luka serve --set KEY=VALUE` sets a key of `broker { ... }`, and wins over the file: `--set workers=1`, `--set
console=false`. Dots are fine: `--set log.retention.ms=60000`. Values are as in Kafka's server.properties, without units.
Lists are repeated: `--set data=/a --set data=/b`. Keys of topics are set in the file only; their defaults have keys of
`broker`: `--set num_partitions=3`.
]=]

local BLOCKS = {
  broker = { "## Keys of `broker { ... }`",
    "Luka's own keys, and the broker configs of Kafka that mean something here. Those of Kafka's that do not are refused "
      .. "with a line that says so." },
  defaults = { "## Keys of `defaults { ... }`",
    "Topic configs that have a broker config as their default, and what they are for topics that do not set them. Giving "
      .. "one here and in `broker { ... }` is an error." },
  topic = { '## Keys of `topic "name" { ... }`',
    "All of Kafka's topic configs, and Luka's own: counts, and functions ([policies.md](policies.md))." },
}

local EFFECTS = { restart = "restart", reload = "reload", ["at once"] = "reload, client" }

local function cell(text) return (text:gsub("|", "\\|")) end

local function code(text) return "`" .. text .. "`" end

--- Values as code, words as they are.
local function default(text)
  return text:find "^[%w\"{-][^ ]*$" and text ~= "unset" and code(text) or text:find "[*{]" and code(text) or text
end

local function table_of(block)
  local rows = { "| key | what it does | takes | default | example | new value |", "|---|---|---|---|---|---|" }
  for _, about in ipairs(describe.block(block)) do
    rows[#rows + 1] = ("| %s | %s | %s | %s | %s | %s |"):format(code(about.key), cell(about.text), cell(about.takes),
      cell(default(about.default)), cell(code(about.example)), EFFECTS[about.effect])
  end
  return table.concat(rows, "\n")
end

local function table_of_words()
  local rows = { "| word | what it does |", "|---|---|" }
  for _, word in ipairs(word_texts.LIST) do
    local usages = {}
    for i, usage in ipairs(word.usage) do usages[i] = code(usage) end
    rows[#rows + 1] = ("| %s | %s |"):format(table.concat(usages, " "), word.text)
  end
  return table.concat(rows, "\n")
end

--- The text of docs/config.md.
---
---@return string
function M.text()
  local parts = { (HEAD:gsub("@WORDS@", table_of_words):format(schema.TOPICS_MAX)) }
  for _, block in ipairs(schema.BLOCKS) do
    parts[#parts + 1] = BLOCKS[block][1] .. "\n"
    local legend = block == "broker"
      and ' The last column: a new value counts at the next start ("restart"), at a reload of the file ("reload"), or '
        .. 'also when a client sets it ("client").' or ""
    parts[#parts + 1] = BLOCKS[block][2] .. legend .. "\n"
    parts[#parts + 1] = table_of(block) .. "\n"
  end
  return table.concat(parts, "\n")
end

return M
