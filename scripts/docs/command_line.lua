-- SPDX-License-Identifier: Apache-2.0
-- docs/command-line.md, from the table of verbs.
local texts = require "luka.cli.text"
local verbs = require "luka.cli.verbs"

local M = {}

--- Text in Markdown; what stands in backquotes is left as it is.
local function escape(text)
  local parts, is_code = {}, false
  for part in (text .. "`"):gmatch "([^`]*)`" do
    parts[#parts + 1] = is_code and part or part:gsub("[|*_<]", "\\%0")
    is_code = not is_code
  end
  return table.concat(parts, "`")
end

--- A table; the first column is code.
local function rows(out, head, list)
  out[#out + 1] = ("| %s | |\n|---|---|"):format(head)
  for _, row in ipairs(list) do out[#out + 1] = ("| `%s` | %s |"):format((tostring(row[1]):gsub("|", "\\|")), escape(row[2])) end
  out[#out + 1] = ""
end

local function options(list)
  local out = {}
  for _, option in ipairs(list) do out[#out + 1] = { texts.label(option), option.text } end
  return out
end

local function put_verb(out, name)
  local verb = verbs.get(name)
  out[#out + 1] = ("## luka %s\n"):format(name)
  out[#out + 1] = ("    %s\n"):format(texts.usage(name))
  for _, paragraph in ipairs(verb.text) do out[#out + 1] = texts.wrap(escape(paragraph)) .. "\n" end
  local arguments = {}
  for _, argument in ipairs(verb.arguments) do arguments[#arguments + 1] = { argument.name, argument.text } end
  if arguments[1] then rows(out, "argument", arguments) end
  if verb.options[1] then rows(out, "option", options(verb.options)) end
  rows(out, "exit status", verb.statuses)
  if verb.files then rows(out, "file", verb.files) end
  for _, example in ipairs(verb.examples) do out[#out + 1] = ("%s:\n\n    %s\n"):format(escape(example[1]), example[2]) end
end

---@return string
function M.text()
  local out = {
    "<!-- Made by scripts/docs.lua (make docs); do not edit. -->",
    "# The command line\n",
    "    luka VERB [arguments] [options]\n",
    "What to do is the first argument, the verb; without one, or with a configuration in its place, it is `serve`. Options may\n"
      .. "stand anywhere, `--` ends them, and the value of one follows it or its `=`. `luka help VERB` prints what stands here,\n"
      .. "`man luka` as well once it is installed, and bash and zsh complete verbs, options, files and keys.\n",
    "A wrong command line or configuration is one line on standard error and exit status 2, and nothing was done; what was\n"
      .. "understood but could not be done is a line and status 1. With `--log-format json` such a line is a JSON object, as all\n"
      .. "lines of the log then are: `{\"time\":..., \"level\":\"error\", \"text\":...}`. A traceback of Lua is printed with `--debug`\n"
      .. "only.\n",
  }
  rows(out, "option of every verb", options(verbs.COMMON))
  for _, name in ipairs(verbs.NAMES) do put_verb(out, name) end
  return (table.concat(out, "\n"):gsub("\n+$", "") .. "\n")
end

return M
