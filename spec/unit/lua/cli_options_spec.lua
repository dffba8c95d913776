-- SPDX-License-Identifier: Apache-2.0
-- The parser of the command line, with a verb that has one of everything, and the texts of all verbs.
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
local kinds = { ["config"] = "file", ["data"] = "folder" }
package.loaded["luka.native.cli"] = {
  kind = function(path) return kinds[path] end,
}
package.loaded["luka.config.schema"] = {
  keys = function() return { "listen", "log_retention_ms" } end,
  BROKER_OTHERS = { port = "listen" },
}
local options = require "luka.cli.options"
local texts = require "luka.cli.text"
local verbs = require "luka.cli.verbs"

package.loaded["luka.cli.verbs.dump"] = {
  summary = "prints files",
  text = { "A paragraph." },
  arguments = {
    { name = "FIRST", text = "the first" },
    { name = "MORE", text = "the rest", is_optional = true, is_repeatable = true },
  },
  options = {
    { name = "count", short = "n", value = "N", kind = "integer", min = -1, max = 1000, text = "how many" },
    { name = "header", short = "H", value = "NAME=VALUE", kind = "setting", is_repeatable = true, text = "headers" },
    { name = "from-begin", short = "f", text = "all of it" },
    { name = "order", value = "WORD", kind = "choice", choices = { "up", "down" }, text = "which way" },
  },
  statuses = verbs.STATUSES,
  examples = { { "All", "luka dump x" } },
}

describe("a command line", function()
  local cases = {
    { {}, "serve", {}, {} },
    { { "config.lua" }, "serve", {}, { "config.lua" } },
    { { "config" }, "serve", {}, { "config" } },
    { { "a/b" }, "serve", {}, { "a/b" } },
    { { "serve", "check" }, "serve", {}, { "check" } },
    { { "--set", "a.b=1", "--set=c==", "x.lua" }, "serve", { set = { { "a.b", "1" }, { "c", "=" } } }, { "x.lua" } },
    { { "--set", "a=" }, "serve", { set = { { "a", "" } } }, {} },
    { { "dump", "a" }, "dump", {}, { "a" } },
    { { "dump", "a", "b", "c" }, "dump", {}, { "a", "b", "c" } },
    { { "dump", "-n", "7", "a" }, "dump", { count = 7 }, { "a" } },
    { { "dump", "-n7", "a" }, "dump", { count = 7 }, { "a" } },
    { { "dump", "a", "-n", "-1" }, "dump", { count = -1 }, { "a" } },
    { { "dump", "--count=1000", "a" }, "dump", { count = 1000 }, { "a" } },
    { { "dump", "-n1", "-n2", "a" }, "dump", { count = 2 }, { "a" } },
    { { "-n1", "dump", "a" }, "dump", { count = 1 }, { "a" } },
    { { "--order", "up", "dump", "a" }, "dump", { order = "up" }, { "a" } },
    { { "dump", "-H", "k=v=w", "-Hl=", "a" }, "dump", { header = { { "k", "v=w" }, { "l", "" } } }, { "a" } },
    { { "dump", "-f", "a" }, "dump", { from_begin = true }, { "a" } },
    { { "dump", "--", "-f", "--" }, "dump", {}, { "-f", "--" } },
    { { "dump", "-" }, "dump", {}, { "-" } },
    { { "dump", "--order", "--help", "a" }, nil, "--order: got '--help', expected up or down" },
    { { "dump", "--help" }, "dump", { help = true }, {} },
    { { "-h" }, "serve", { help = true }, {} },
    { { "dump", "--version" }, "version", { version = true }, {} },
    { { "dump", "a", "--debug", "--log-format", "json" }, "dump", { debug = true, log_format = "json" }, { "a" } },
    { { "dump" }, nil, "dump: FIRST is missing; `luka help dump` says more" },
    { { "dump", "-n", "x", "a" }, nil, "-n: got 'x', expected a whole number from -1 to 1000" },
    { { "dump", "--count", "1001", "a" }, nil, "--count: got '1001', expected a whole number from -1 to 1000" },
    { { "dump", "--count", "1e2", "a" }, nil, "--count: got '1e2', expected a whole number from -1 to 1000" },
    { { "dump", "-n" }, nil, "-n needs a value" },
    { { "dump", "-fn7", "a" }, "dump", { from_begin = true, count = 7 }, { "a" } },
    { { "dump", "-fn", "7", "a" }, "dump", { from_begin = true, count = 7 }, { "a" } },
    { { "dump", "-fH", "k=v", "a" }, "dump", { from_begin = true, header = { { "k", "v" } } }, { "a" } },
    { { "dump", "-fh" }, "dump", { from_begin = true, help = true }, {} },
    { { "dump", "-fa" }, nil, "there is no option -a; `luka help dump` lists them" },
    { { "dump", "-f-n7" }, nil, "-f takes no value" },
    { { "dump", "-f=1" }, nil, "-f takes no value" },
    { { "dump", "--from-begin=1" }, nil, "--from-begin takes no value" },
    { { "" }, nil, "an argument is empty" },
    { { "dump", "" }, nil, "an argument is empty" },
    { { "dump", "--", "a", "" }, nil, "an argument is empty" },
    { { "dump", "-H", "v", "a" }, nil, "-H: got 'v', expected key=value" },
    { { "dump", "--ordre=up" }, nil, "there is no option --ordre, did you mean --order?" },
    { { "dump", "-x" }, nil, "there is no option -x; `luka help dump` lists them" },
    { { "--listen=:9092" }, nil, "there is no option --listen, did you mean --set listen=...?" },
    { { "--log-retention-ms", "1" }, nil, "there is no option --log-retention-ms, did you mean --set log_retention_ms=...?" },
    { { "serve", "--port", "9092" }, nil, "there is no option --port, did you mean --set listen=...?" },
    { { "dump", "--listen", "a" }, nil, "there is no option --listen; `luka help dump` lists them" },
    { { "--order", "up" }, nil, "serve takes no option --order; `luka help serve` lists them" },
    { { "--adopt", "dump", "a" }, nil, "dump takes no option --adopt; `luka help dump` lists them" },
    { { "version", "--adopt" }, nil, "there is no option --adopt; `luka help version` lists them" },
    { { "help", "serve", "dump" }, nil, "help: unexpected argument 'dump'" },
    { { ("x"):rep(200) }, nil, ("there is no verb '%s' and no such file; `luka help` lists them"):format(("x"):rep(100)) },
  }
  for _, case in ipairs(cases) do
    local line = table.concat(case[1], " ")
    it(("is read: luka %s"):format(#line < 80 and line or line:sub(1, 80) .. "..."), function()
      local call, problem = options.parse(case[1])
      if case[2] then
        assert.equal(nil, problem)
        assert.same({ case[2], case[3], case[4] }, { call.verb, call.options, call.arguments })
      else
        assert.equal(nil, call)
        assert.equal(case[3], problem)
      end
    end)
  end

  it("says how its mistakes are to be written, even when it cannot be read", function()
    assert.equal("json", options.log_format { "--frob", "--log-format", "json" })
    assert.equal("json", options.log_format { "x", "--log-format=json" })
    assert.equal(nil, options.log_format { "--log-format", "text" })
    assert.equal(nil, options.log_format { "--", "--log-format=json" })
    assert.equal(nil, options.log_format { "--log-format" })
  end)
end)

describe("the help of a verb", function()
  it("is made from its description", function()
    assert.equal([[
usage: luka dump FIRST [MORE...] [options]

A paragraph.

  FIRST                    the first
  MORE                     the rest
  -n, --count N            how many
  -H, --header NAME=VALUE  headers
  -f, --from-begin         all of it
  --order WORD             which way
  --log-format FORMAT      how lines on standard error are written: text, the default, or json for
                           machines
  --debug                  print a traceback with errors of Lua
  -h, --help               print the help of the verb
  --version                print the version

All:
    luka dump x

Exit status: 0 done, 1 could not be done, 2 wrong command line or configuration.
]], texts.verb "dump")
  end)

  it("has a label that is too long above its text", function()
    local long = { name = "x", value = ("V"):rep(40), text = "t" }
    table.insert(package.loaded["luka.cli.verbs.dump"].options, 1, long)
    package.loaded["luka.cli.verbs"] = nil
    package.loaded["luka.cli.text"] = nil
    local text = require("luka.cli.text").verb "dump"
    table.remove(package.loaded["luka.cli.verbs.dump"].options, 1)
    assert.truthy(text:find("\n  --x " .. ("V"):rep(40) .. "\n" .. (" "):rep(27) .. "t\n", 1, true))
  end)
end)

describe("the table of verbs", function()
  for _, name in ipairs(verbs.NAMES) do
    it(("says all about %s"):format(name), function()
      local verb = verbs.get(name)
      assert.truthy(#verb.summary > 5 and not verb.summary:find "%.$")
      assert.truthy(#verb.text > 0)
      assert.truthy(name == "version" or #verb.examples > 0)
      local seen = {}
      for _, status in ipairs(verb.statuses) do
        assert.truthy(#status[2] > 3)
        seen[status[1]] = true
      end
      assert.truthy(seen[0] and seen[2])
      for _, argument in ipairs(verb.arguments) do assert.truthy(#argument.text > 2 and argument.name == argument.name:upper()) end
    end)

    it(("has no option of %s twice, and none without a text"):format(name), function()
      local seen = {}
      for _, option in ipairs(verbs.options(name)) do
        assert.truthy(#option.text > 5 and not option.text:find "%.$")
        for _, label in ipairs { "--" .. option.name, option.short and "-" .. option.short or nil } do
          assert.equal(nil, seen[label])
          seen[label] = true
        end
        assert.truthy(option.value or not option.kind and not option.is_repeatable)
        assert.equal(option.kind == "choice", option.choices ~= nil)
      end
    end)
  end
end)
