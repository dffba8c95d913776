-- SPDX-License-Identifier: Apache-2.0
-- Line editing by libedit (readline is GPL). It is opened when a prompt is, so that nothing else depends on it.
--
-- libedit calls back for keys, for the prompt and for Tab. Such calls must not come out of compiled code, so this module
-- is never compiled; and no error may jump over libedit's frames, so callbacks keep it and read() raises it afterwards.
local ffi = require "ffi"

jit.off(true, true)

local M = {}

ffi.cdef [[
struct luka_line { const char *buffer; const char *cursor; const char *last; };
struct luka_history_event { int number; const char *text; };
typedef int (*luka_edit_key)(void *edit, int32_t *character);
typedef char *(*luka_edit_prompt)(void *edit);
typedef unsigned char (*luka_edit_command)(void *edit, int character);

void *el_init(const char *program, void *input, void *output, void *errors);
void el_end(void *edit);
int el_set(void *edit, int what, ...);
int el_wset(void *edit, int what, ...);
int el_source(void *edit, const char *path);
void el_resize(void *edit);
void el_beep(void *edit);
const char *el_gets(void *edit, int *count);
const struct luka_line *el_line(void *edit);
int el_insertstr(void *edit, const char *text);
void el_deletestr(void *edit, int count);
void *history_init(void);
void history_end(void *history);
int history(void *history, struct luka_history_event *event, int what, ...);
void *dlopen(const char *name, int flags);
]]

local LIBRARY, PACKAGE = "libedit.so.2", "libedit2"

-- histedit.h
local EL_PROMPT, EL_EDITOR, EL_BIND, EL_SETTY, EL_ADDFN, EL_HIST, EL_GETCFN, EL_PREP_TERM, EL_REFRESH =
  0, 2, 4, 8, 9, 10, 13, 16, 20
local H_SETSIZE, H_ENTER = 1, 10
local CC_NORM, CC_REFRESH, CC_ERROR = 0, 4, 6
local RTLD_NOW, RTLD_NODELETE = 2, 0x1000

local PROMPT_MAX = 64

--- Keys that terminals send and libedit's editing mode does not know.
local KEYS = {
  { "^R", "em-inc-search-prev" }, { "^W", "ed-delete-prev-word" },
  { "\\e[3~", "ed-delete-next-char" },
  { "\\e[1~", "ed-move-to-beg" }, { "\\e[H", "ed-move-to-beg" }, { "\\eOH", "ed-move-to-beg" },
  { "\\e[4~", "ed-move-to-end" }, { "\\e[F", "ed-move-to-end" }, { "\\eOF", "ed-move-to-end" },
  { "\\e[1;5D", "ed-prev-word" }, { "\\e[1;5C", "em-next-word" },
}

---@class luka.Edit
local Edit = {}
Edit.__index = Edit

--- Makes a function one that libedit may call: its error is kept, and `failed` is the result.
local function callback(self, kind, failed, fn)
  local pointer = ffi.cast(kind, function(_, argument)
    local ok, result = pcall(fn, argument)
    if ok then return result end
    self.raised = result
    return failed
  end)
  self.callbacks[#self.callbacks + 1] = pointer
  return pointer
end

--- An ASCII text in wide characters.
local function wide(text)
  local out = ffi.new("int32_t[?]", #text + 1)
  for i = 1, #text do out[i - 1] = text:byte(i) end
  return out
end

--- Opens the library. It stays in the process: libtinfo, which it brings along, keeps memory to its end.
local function open_library()
  ffi.C.dlopen(LIBRARY, RTLD_NOW + RTLD_NODELETE)
  return ffi.load(LIBRARY)
end

--- Opens an editor on standard input.
---
---@param given { output: file*, key: (fun(): integer?), complete: fun(), history_size: integer }  key: the next code point, nil
---   ends the line; complete: Tab was pressed
---@return luka.Edit? edit
---@return string? err  when the library is missing
function M.open(given)
  local ok, lib = pcall(open_library)
  if not ok then return nil, ("%s is not to be had: install the package %s"):format(LIBRARY, PACKAGE) end
  local self = setmetatable({ lib = lib, callbacks = {}, prompt = ffi.new("char[?]", PROMPT_MAX) }, Edit)
  self.edit = lib.el_init("luka", io.stdin, given.output, io.stderr)
  if self.edit == nil then return nil, "libedit does not start on this terminal" end
  self.history, self.event = lib.history_init(), ffi.new "struct luka_history_event"
  lib.history(self.history, self.event, H_SETSIZE, ffi.cast("int", given.history_size))
  local edit = self.edit
  lib.el_set(edit, EL_EDITOR, "emacs")
  lib.el_set(edit, EL_PROMPT, callback(self, "luka_edit_prompt", nil, function() return self.prompt end))
  lib.el_set(edit, EL_HIST, ffi.cast("void *", lib.history), self.history)
  lib.el_set(edit, EL_GETCFN, callback(self, "luka_edit_key", -1, function(character)
    local code = given.key()
    if not code then return -1 end
    character[0] = code
    return 1
  end))
  local none = ffi.cast("const char *", nil)
  -- el_set() would copy these two and never free them; el_wset() keeps the pointers.
  self.command, self.command_help = wide "luka-complete", wide "complete what is before the cursor"
  lib.el_wset(edit, EL_ADDFN, self.command, self.command_help,
    callback(self, "luka_edit_command", CC_ERROR, function() return given.complete() or CC_NORM end))
  lib.el_set(edit, EL_BIND, "^I", "luka-complete", none)
  -- While a line is edited, Ctrl-C is a key: as a signal it would have the terminal throw away what was typed behind it and
  -- what is being written.
  lib.el_set(edit, EL_SETTY, "-d", "-isig", none)
  for _, key in ipairs(KEYS) do lib.el_set(edit, EL_BIND, key[1], key[2], none) end
  lib.el_source(edit, none)
  return self
end

--- Reads a line; nil when a key ended it early, or Ctrl-D on an empty line.
---
---@param prompt string  shorter than 64 bytes
---@return string? line
function Edit:read(prompt)
  ffi.copy(self.prompt, prompt:sub(1, PROMPT_MAX - 1))
  local count = ffi.new "int[1]"
  self.lib.el_set(self.edit, EL_PREP_TERM, ffi.cast("int", 1)) -- before the prompt, so that keys behind it are not echoed twice
  local line = self.lib.el_gets(self.edit, count)
  local raised = self.raised
  self.raised = nil
  if raised then error(raised, 0) end
  if line == nil then return nil end
  return (ffi.string(line):gsub("\n$", ""))
end

--- The line that is being edited.
---
---@return string line
---@return integer cursor  bytes before it
function Edit:line()
  local line = self.lib.el_line(self.edit)
  return ffi.string(line.buffer, line.last - line.buffer), tonumber(line.cursor - line.buffer)
end

--- What a function for Tab returns after it changed the line, printed below it, or found nothing.
M.CHANGED, M.PRINTED, M.NOTHING = CC_REFRESH, CC_NORM, CC_ERROR

--- Inserts a text before the cursor, after removing some characters there.
---
---@param removed integer  characters
---@param text string
function Edit:replace(removed, text)
  if removed > 0 then self.lib.el_deletestr(self.edit, removed) end
  if text ~= "" then self.lib.el_insertstr(self.edit, text) end
end

--- Draws prompt and line again, on the line where the cursor is.
function Edit:redraw()
  self.lib.el_set(self.edit, EL_REFRESH)
end

--- The terminal has another size.
function Edit:resize()
  self.lib.el_resize(self.edit)
end

--- Gives the terminal to others for as long as a function runs.
---
---@param run fun()
function Edit:lend(run)
  self.lib.el_set(self.edit, EL_PREP_TERM, ffi.cast("int", 0))
  run()
  self.lib.el_set(self.edit, EL_PREP_TERM, ffi.cast("int", 1))
  self:redraw()
end

--- Adds a line to what the arrow keys go through.
---
---@param entry string
function Edit:remember(entry)
  self.lib.history(self.history, self.event, H_ENTER, ffi.cast("const char *", entry))
end

--- Gives the terminal back and frees everything.
function Edit:close()
  self.lib.el_end(self.edit)
  self.lib.history_end(self.history)
  for _, pointer in ipairs(self.callbacks) do pointer:free() end
end

return M
