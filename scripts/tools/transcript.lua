-- SPDX-License-Identifier: Apache-2.0
-- What the tools have said, as a text that is the same every time: what a run makes up, ids, times and addresses, is
-- replaced by words; and two such texts compared step by step.
local M = {}

--- Milliseconds since 1970: ours are times of the run, others are as old as steps said, to some seconds.
local function time(text)
  local old = text:match "^1[67]00000%d%d%d%d%d%d$"
  return old and text:sub(1, 7) .. "NNNNNN" or "TIME"
end

--- Ids of Kafka's kind, 16 bytes in base64. A name of 22 letters is none: there, capitals begin words.
local function id(text)
  return text:find "%u" and text:find "%l" and (text:find "%d" or text:find "%u%u") and ("I"):rep(22) or nil
end

--- Lists that come out of hash tables.
local function in_alphabet(before, list, after)
  local items = {}
  for item in (list .. ", "):gmatch "(.-), " do items[#items + 1] = item end
  table.sort(items)
  return before .. table.concat(items, ", ") .. (after or "")
end

--- What differs between two runs of the same tool, and what stands for it, in this order.
local RULES = {
  { "\r", "" },
  { '("avg_throughput":)[%d.E]+', "%1N" },
  { "%x%x%x%x%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x", ("U"):rep(36) },
  { "%f[%w_-]" .. ("[%w_-]"):rep(22) .. "%f[^%w_-]", id },
  { "%f[%d]" .. ("%d"):rep(13) .. "%f[%D]", time },
  { "127%.0%.0%.1:%d+", "127.0.0.1:PORT" },
  { "(127%.0%.0%.1 )%d+", "%1PORT" },
  -- How far a metadata log has come.
  { "(HighWatermark: +)%d+", "%1N" },
  { "(%f[A]" .. ("A"):rep(22) .. "%s+)%d+ +", "%1N " },
  { "(Epoch: )%d+\n", "%1N\n" },
  { "(SCRAM credential configs for user%-principal '[^']*' are )([^\n]+)", in_alphabet },
  { "(Valid states are: )([^\n]+)", in_alphabet },
  { "(Valid types are: )([^\n]+)", in_alphabet },
  { '(Option combination "%[)([^\n"]+)(%]")', in_alphabet },
  { "(takes one of these options: )([^\n]+)", in_alphabet },
  { "(requires one of the following scenarios: %[)([^\n]+)(%]\n)", in_alphabet },
  -- Clients of one JVM are counted, and so is what they send.
  { "(consumer%-[%w_-]-%-)%d+%f[%D]", "%1N" },
  { "(adminclient%-)%d+", "%1N" },
  { "(console%-consumer%-)%d+", "%1N" },
  { "(correlation id )%d+", "%1N" },
  -- At which attempt the time is up, and what a client waits for by then.
  { "(errors%.TimeoutException: )[^\n]+", "%1(what it waited for)" },
  -- Where in the tools an exception was thrown is the tools' business, and so are their options.
  { "\n\tat [^\n]*", "" },
  { "\n\t%.%.%. %d+ more", "" },
  { "Option%s+Description *\n%-%-%-%-%-%-.*$", "(options)" },
  { "[ \t]+\n", "\n" },
  -- Records of __consumer_offsets come without anything between them.
  { '}({"key":{"type":)', "}\n%1" },
}

--- Replaces what is different in each run.
---
---@param text string
---@param names table<string, string>  literal texts, such as folders, and the words for them
---@return string
function M.normal(text, names)
  local literals = {}
  for literal in pairs(names) do literals[#literals + 1] = literal end
  table.sort(literals, function(a, b) return #a > #b end) -- a folder before those that it lies in
  for _, literal in ipairs(literals) do text = text:gsub(literal:gsub("%p", "%%%0"), names[literal]) end
  for _, rule in ipairs(RULES) do text = text:gsub(rule[1], rule[2]) end
  -- How often a client has to ask again is a matter of time.
  local lines, last = {}, nil
  for line in text:gmatch "[^\n]*\n?" do
    if line ~= last or not line:find "^WARN " then lines[#lines + 1] = line end
    last = line
  end
  return table.concat(lines)
end

--- The lines of a text, each behind a prefix.
local function put(out, prefix, text)
  if text == "" then return end
  for line in (text:gsub("\n*$", "") .. "\n"):gmatch "([^\n]*)\n" do out[#out + 1] = (prefix .. line):gsub("%s+$", "") end
end

--- A text without the lines that have a pattern.
local function without(text, pattern)
  local lines = {}
  for line in text:gmatch "[^\n]+" do
    if not line:find(pattern) then lines[#lines + 1] = line end
  end
  return table.concat(lines, "\n")
end

local function in_order(text)
  local lines = {}
  for line in text:gmatch "[^\n]+" do lines[#lines + 1] = line end
  table.sort(lines)
  return table.concat(lines, "\n")
end

--- A step and what came of it: `==` its name, `$` the command, `<` its input, `>` and `!` what it wrote on standard output
--- and error, `=` its exit status where that is not 0.
---
---@param step { name: string, command: string?, shown: string?, sorted: boolean?, hidden: string? }
---@param result { out: string, err: string, status: integer, fault: string? }
---@param names table<string, string>  see normal()
---@return string
function M.entry(step, result, names)
  local out = { "== " .. step.name }
  if step.command then put(out, "$ ", step.command) end
  put(out, "< ", step.shown or "")
  local said = M.normal(result.out, names)
  if step.hidden then said = without(said, step.hidden) end
  put(out, "> ", step.sorted and in_order(said) or said)
  local complained = M.normal(result.err, names)
  put(out, "! ", step.sorted and in_order(complained) or complained)
  if result.status ~= 0 then out[#out + 1] = "= " .. result.status end
  if result.fault then out[#out + 1] = "? " .. result.fault end
  return table.concat(out, "\n") .. "\n"
end

--- The entries of a transcript by their names, and the names in order.
---
---@param text string
---@return table<string, string> entries
---@return string[] names
function M.entries(text)
  local entries, names = {}, {}
  for entry in ("\n" .. text:gsub("\n+$", "")):gsub("\n== ", "\0== "):gmatch "%z([^%z]*)" do
    local name = entry:match "^== ([^\n]*)"
    if name then
      entries[name], names[#names + 1] = entry:gsub("\n+$", ""), name
    end
  end
  return entries, names
end

--- The steps of which two transcripts do not say the same, in order.
---
---@param a string
---@param b string
---@return { name: string, a: string, b: string }[]
function M.differences(a, b)
  local in_a, names = M.entries(a)
  local in_b, more = M.entries(b)
  local out = {}
  for _, name in ipairs(more) do
    if not in_a[name] then names[#names + 1] = name end
  end
  for _, name in ipairs(names) do
    if in_a[name] ~= in_b[name] then out[#out + 1] = { name = name, a = in_a[name] or "", b = in_b[name] or "" } end
  end
  return out
end

return M
