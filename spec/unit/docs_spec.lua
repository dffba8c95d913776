-- SPDX-License-Identifier: Apache-2.0
-- What `make docs` writes: committed as it would write it now, and fit for man, bash and zsh.
local unit = require "spec.support.unit"
local unistd = require "posix.unistd"

local RUNNER = unistd.readlink "/proc/self/exe"

--- The lines that a shell command prints, standard error included.
local function lines(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local out = {}
  for line in pipe:lines() do out[#out + 1] = line end
  pipe:close()
  return out
end

local function has(program) return os.execute("command -v " .. program .. " >/dev/null 2>&1") == 0 end

local files, problems = {}, {}
for _, line in ipairs(lines(RUNNER .. " --lua scripts/docs.lua --check")) do
  local state, path = line:match "^(%l+) (%S+)$"
  if state == "fresh" or state == "stale" then
    files[#files + 1] = { path = path, state = state }
  else
    problems[#problems + 1] = line
  end
end

describe("make docs", function()
  it("has nothing to complain about", function()
    assert.same({}, problems)
    assert.truthy(#files > 10)
  end)

  for _, file in ipairs(files) do
    it("would write " .. file.path .. " as it is", function()
      assert.equal("fresh", file.state, "run `make docs` and commit what it writes")
    end)
  end

  it("is the only source of man pages and completions", function()
    local made, found = {}, {}
    for _, file in ipairs(files) do made[file.path] = true end
    for _, path in ipairs(lines "ls man/* completion/*") do
      if not made[path] then found[#found + 1] = path end
    end
    assert.same({}, found)
  end)
end)

describe("the man pages", function()
  for _, path in ipairs(lines "ls man/*.1") do
    it(("are shown without a warning: %s"):format(path), function()
      if not has "man" or not has "groff" then return end
      assert.same({}, lines("LC_ALL=C.UTF-8 man --warnings -l " .. path .. " >/dev/null"))
    end)
  end

  it("have the name that `man -k` looks for", function()
    for _, path in ipairs(lines "ls man/*.1") do
      local name = path:match "([^/]+)%.1$"
      local found = unit.read_file(path):match "\n%.SH NAME\n(%S+) \\%- %S"
      assert.equal(name, found and found:gsub("\\", ""))
    end
  end)
end)

describe("the completion for bash", function()
  --- What is offered for a line, cut into words as bash does, at the end of which Tab is pressed.
  local function offers(...)
    local words = {}
    for _, word in ipairs { ... } do words[#words + 1] = "'" .. word .. "'" end
    local script = ("set -u; cd spec/data && source ../../completion/luka.bash && COMP_WORDS=(%s) && COMP_CWORD=%d && _luka && "
      .. [[printf "%%s\n" "${COMPREPLY[@]}"]]):format(table.concat(words, " "), #words - 1)
    local path = unit.temp_dir() .. "/script"
    unit.write_file(path, script)
    local out = lines("bash --norc " .. path)
    return out[1] == "" and {} or out
  end

  local cases = {
    { "verbs", { "luka", "co" }, { "console", "consume" } },
    { "verbs behind an option and its value", { "luka", "--set", "id", "=", "1", "ser" }, { "serve" } },
    { "verbs, and configurations", { "luka", "k" }, { "kafka-tools", "kafka_segment.lua" } },
    { "the options of a verb", { "luka", "serve", "--a" }, { "--adopt" } },
    { "the options of the default verb, too", { "luka", "--a" }, { "--adopt" } },
    { "options behind a configuration", { "luka", "kafka_segment.lua", "--log-l" }, { "--log-level" } },
    { "no option of another verb", { "luka", "version", "--a" }, {} },
    { "the values of an option", { "luka", "serve", "--log-level", "" }, { "error", "warn", "info", "debug" } },
    { "values behind =", { "luka", "serve", "--log-format", "=", "j" }, { "json" } },
    { "keys of a configuration", { "luka", "serve", "--set", "work" }, { "workers=" } },
    { "the values of a config of Kafka's", { "luka", "serve", "--set", "compression_type", "=", "l" }, { "lz4" } },
    { "the values of a config in dots", { "luka", "--set", "auto.create.topics.enable", "=" }, { "true", "false" } },
    { "keys behind --set=", { "luka", "serve", "--set", "=", "work" }, { "workers=" } },
    { "the values of a key", { "luka", "serve", "--set", "log_level", "=", "w" }, { "warn" } },
    { "the values of a key, in one word", { "luka", "serve", "--set", "=", "log_level", "=", "w" }, { "warn" } },
    { "paths for a key that is one", { "luka", "serve", "--set", "data", "=", "kafka_" }, { "kafka_segment.lua" } },
    { "nothing for an address", { "luka", "serve", "--set", "listen", "=", "127.0.0.1", ":" }, {} },
    { "files", { "luka", "dump", "a", "golden-r" }, { "golden-records.jsonl" } },
    { "configurations only where one is expected", { "luka", "check", "golden-r" }, {} },
    { "one configuration only", { "luka", "serve", "kafka_segment.lua", "kafka_" }, {} },
    { "no more than the arguments there are", { "luka", "help", "serve", "b" }, {} },
    { "files for the name of an option behind --", { "luka", "dump", "--", "--" }, {} },
    { "verbs to be helped with", { "luka", "help", "ser" }, { "serve" } },
    { "keys to be helped with", { "luka", "help", "segment_m" }, { "segment_ms" } },
    { "blocks to be helped with", { "luka", "help", "brok" }, { "broker", "broker_rack" } },
  }
  for _, case in ipairs(cases) do
    it("offers " .. case[1], function() assert.same(case[3], offers(unpack(case[2]))) end)
  end

  it("is bash without a warning of shellcheck", function()
    assert.same({}, lines "bash -n completion/luka.bash")
    if has "shellcheck" then assert.same({}, lines "shellcheck completion/luka.bash") end
  end)
end)

describe("the completion for zsh", function()
  it("is zsh", function()
    if has "zsh" then assert.same({}, lines "zsh -n completion/_luka") end
    assert.equal("#compdef luka\n", unit.read_file("completion/_luka"):match "^[^\n]*\n")
  end)
end)
