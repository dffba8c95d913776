-- SPDX-License-Identifier: Apache-2.0
-- The list of files that are made from the sources: what `make docs` writes and spec/unit/docs_spec.lua compares. The
-- makers run in a state like that of the command line: `require "luka..."` gives the program's own modules.
local command_line = require "scripts.docs.command_line"
local completion = require "scripts.docs.completion"
local config = require "luka.config.docs"
local man = require "scripts.docs.man"
local types = require "luka.config.types"
local verbs = require "luka.cli.verbs"
local words = require "luka.words.docs"

---@type { path: string, text: fun(): string }[]
local files = {
  { path = "docs/config.md", text = config.text },
  { path = "types/luka.lua", text = types.text },
  { path = "docs/console.md", text = words.markdown },
  { path = "types/console.lua", text = words.types },
  { path = "docs/command-line.md", text = command_line.text },
  { path = "completion/luka.bash", text = completion.bash },
  { path = "completion/_luka", text = completion.zsh },
  { path = "man/luka.1", text = man.program },
}
for _, name in ipairs(verbs.NAMES) do
  files[#files + 1] = { path = ("man/luka-%s.1"):format(name), text = function() return man.verb(name) end }
end

return files
