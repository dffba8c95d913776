-- SPDX-License-Identifier: Apache-2.0
-- Completions for bash and zsh, from the table of verbs and the keys of a configuration.
local keys = require "scripts.docs.keys"
local verbs = require "luka.cli.verbs"

local M = {}

local HEAD = "# Made by scripts/docs.lua (make docs); do not edit.\n# SPDX-License-Identifier: Apache-2.0\n"

-- ---- bash ----

--- The spellings of a verb's options.
local function spellings(list, is_valued)
  local out = {}
  for _, option in ipairs(list) do
    if not is_valued or option.value then
      if option.short then out[#out + 1] = "-" .. option.short end
      out[#out + 1] = "--" .. option.name
    end
  end
  return table.concat(out, " ")
end

--- A shell function with a case for each verb.
local function by_verb(name, text_of)
  local out = { name .. "()", "{", "  case $1 in" }
  for _, verb in ipairs(verbs.NAMES) do out[#out + 1] = ("  %s) %s ;;"):format(verb, text_of(verb)) end
  out[#out + 1] = "  esac"
  out[#out + 1] = "}\n"
  return table.concat(out, "\n")
end

--- What completes the value of each option, as "VERB:--option".
local function value_cases()
  local out = {}
  for _, verb in ipairs(verbs.NAMES) do
    for _, option in ipairs(verbs.options(verb)) do
      local command = option.complete == "setting" and "_luka_setting"
        or option.complete == "file" and "_luka_file"
        or option.choices and ('_luka_word "%s"'):format(table.concat(option.choices, " "))
      if option.value and command then
        local labels = verb .. ":--" .. option.name
        if option.short then labels = labels .. "|" .. verb .. ":-" .. option.short end
        out[#out + 1] = ("  %s) %s ;;"):format(labels, command)
      end
    end
  end
  return table.concat(out, "\n")
end

local ARGUMENTS = { file = "_luka_file", lua = "_luka_lua", help = "_luka_help", topic = "_luka_topic" }

--- What completes the arguments of a verb: the first, the second ..., the last again and again where it is repeatable.
local function argument_command(name)
  local out, definitions = {}, verbs.get(name).arguments
  for i, argument in ipairs(definitions) do
    local command = ARGUMENTS[argument.complete] or ":"
    local is_last = argument.is_repeatable and i == #definitions
    out[i] = is_last and command or ("((count == %d)) && %s"):format(i - 1, command)
  end
  -- What can be repeated stands for what comes behind the others only.
  if #out > 1 and definitions[#out].is_repeatable then out[#out] = ("((count >= %d)) && %s"):format(#out - 1, out[#out]) end
  return out[1] and table.concat(out, "; ") or ":"
end

local function setting_cases()
  local out = {}
  for _, key in ipairs(keys.list()) do
    if key.values then
      out[#out + 1] = ('  %s) _luka_word "%s" ;;'):format(key.key, table.concat(key.values, " "))
    elseif key.is_path then
      out[#out + 1] = ("  %s) _luka_file ;;"):format(key.key)
    end
  end
  return table.concat(out, "\n")
end

local function setting_names()
  local out = {}
  for _, key in ipairs(keys.list()) do out[#out + 1] = key.key .. "=" end
  return table.concat(out, "\n")
end

local BASH = [==[
# Completion of luka's command line for bash; source it, or install it as share/bash-completion/completions/luka.

_luka_verbs="@VERBS@"

_luka_settings="@SETTINGS@"

_luka_names="@NAMES@"

@OPTIONS@
@VALUED@
# The offers below are for $cur, the part of the word that bash would replace.

_luka_word()
{
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

_luka_file()
{
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}

_luka_lua()
{
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -d -- "$cur"; compgen -f -X '!*.lua' -- "$cur")
}

# The topics of the broker that `luka console` would talk to; none when there is no such broker. Only what can be a name
# is taken, as compgen expands what it is given.
_luka_topic()
{
  local names
  names=$("${COMP_WORDS[0]}" console --json -e 'topics()' 2>/dev/null </dev/null | sed -n 's/.*"name":"\([A-Za-z0-9._-]*\)".*/\1/p')
  _luka_word "$names"
}

# Verbs, and once something is typed the keys of a configuration.
_luka_help()
{
  _luka_word "$_luka_verbs${cur:+ $_luka_names}"
}

# KEY=VALUE of --set: $whole is all of it.
_luka_setting()
{
  if [[ $whole != *=* ]]; then
    compopt -o nospace 2>/dev/null
    _luka_word "$_luka_settings"
    return
  fi
  local key=${whole%%=*}
  case ${key//./_} in
@SETTING_CASES@
  esac
}

_luka_value()
{
  case $1 in
@VALUE_CASES@
  esac
}

_luka_argument()
{
  local count=$2
  case $1 in
@ARGUMENT_CASES@
  esac
}

_luka()
{
  COMPREPLY=()
  # bash cuts words at '=' and ':'; here they are whole again.
  local -a words=()
  local i word is_open=""
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((i > 0)) && { [[ $word == [=:] ]] || [[ -n $is_open && -n $word ]]; }; then
      words[${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
    is_open=""
    [[ $word == [=:] ]] && is_open=1
  done
  local whole=${words[${#words[@]} - 1]}
  local cur=${COMP_WORDS[COMP_CWORD]}
  [[ $cur == [=:] ]] && cur=""

  local verb="" option="" count=0 has_options=1
  for ((i = 1; i < ${#words[@]} - 1; i++)); do
    word=${words[i]}
    if [[ -n $option ]]; then
      option=""
    elif [[ -n $has_options && $word == -- ]]; then
      has_options=""
    elif [[ -n $has_options && $word == -* ]]; then
      [[ $word != --*=* && " $(_luka_valued "${verb:-serve}") " == *" $word "* ]] && option=$word
    elif [[ -n $verb ]]; then
      count=$((count + 1))
    elif [[ " $_luka_verbs " == *" $word "* ]]; then
      verb=$word
    else
      verb=serve
      count=1
    fi
  done

  if [[ -n $option ]]; then
    _luka_value "${verb:-serve}:$option"
  elif [[ -n $has_options && $whole == --*=* ]]; then
    option=${whole%%=*}
    whole=${whole#*=}
    _luka_value "${verb:-serve}:$option"
  elif [[ -n $has_options && $whole == -* ]]; then
    _luka_word "$(_luka_options "${verb:-serve}")"
  elif [[ -z $verb ]]; then
    local -a files=()
    [[ -n $cur ]] && _luka_lua && files=("${COMPREPLY[@]}")
    _luka_word "$_luka_verbs"
    COMPREPLY+=("${files[@]}")
  else
    _luka_argument "$verb" "$count"
  fi
}

complete -F _luka luka
]==]

---@return string
function M.bash()
  local arguments = {}
  for _, name in ipairs(verbs.NAMES) do arguments[#arguments + 1] = ("  %s) %s ;;"):format(name, argument_command(name)) end
  local parts = {
    VERBS = table.concat(verbs.NAMES, " "),
    SETTINGS = setting_names(),
    NAMES = table.concat(keys.names(), "\n"),
    OPTIONS = by_verb("_luka_options", function(verb) return ('echo "%s"'):format(spellings(verbs.options(verb))) end),
    VALUED = by_verb("_luka_valued", function(verb) return ('echo "%s"'):format(spellings(verbs.options(verb), true)) end),
    SETTING_CASES = setting_cases(),
    VALUE_CASES = value_cases(),
    ARGUMENT_CASES = table.concat(arguments, "\n"),
  }
  return "# shellcheck shell=bash\n" .. HEAD .. BASH:gsub("@([%u_]+)@", parts)
end

-- ---- zsh ----

--- Text inside the brackets of an _arguments spec, in single quotes.
local function quoted(text)
  return (text:gsub("[%[%]:\\]", "\\%0"):gsub("'", "'\\''"))
end

local function first_sentence(text)
  return (text:match "^(.-);" or text:match "^(.-%a)%. " or text):gsub("%.$", "")
end

local ZSH_ARGUMENTS = {
  file = "_files", lua = "_files -g \"*.lua(-.)\"", help = "_luka_help", topic = "_luka_topic", setting = "_luka_setting",
}

--- The spec of an option, "'*--set=[...]:KEY=VALUE:_luka_setting'".
local function zsh_option(option)
  local text = ("[%s]"):format(quoted(first_sentence(option.text)))
  local value = ""
  if option.value then
    local action = option.choices and "(" .. table.concat(option.choices, " ") .. ")" or ZSH_ARGUMENTS[option.complete] or " "
    value = (":%s:%s"):format(quoted(option.value), action)
  end
  local equals = option.value and "=" or ""
  local star = option.is_repeatable and "*" or ""
  if not option.short then return ("'%s--%s%s%s%s'"):format(star, option.name, equals, text, value) end
  local others = star ~= "" and "'*'" or ("'(-%s --%s)'"):format(option.short, option.name)
  return ("%s{-%s%s,--%s%s}'%s%s'"):format(others, option.short, option.value and "+" or "", option.name, equals, text, value)
end

local function zsh_specs(name, indent)
  local specs = {}
  for _, option in ipairs(verbs.options(name)) do specs[#specs + 1] = zsh_option(option) end
  for i, argument in ipairs(verbs.get(name).arguments) do
    local place = argument.is_repeatable and "*" or tostring(i)
    local action = ZSH_ARGUMENTS[argument.complete] or " "
    specs[#specs + 1] = ("'%s:%s:%s'"):format(place .. (argument.is_optional and ":" or ""), quoted(argument.name), action)
  end
  return table.concat(specs, " \\\n" .. (" "):rep(indent))
end

local ZSH = [==[
# Completion of luka's command line for zsh; put it where $fpath looks, as _luka.

_luka_verb() {
  local -a verbs=(
@VERBS@
  )
  _describe -t verbs verb verbs
}

_luka_topic() {
  local -a names=(${(f)"$(
    _call_program topics $service console --json -e "'topics()'" 2>/dev/null </dev/null |
      sed -n 's/.*"name":"\([A-Za-z0-9._-]*\)".*/\1/p'
  )"})
  compadd -a names
}

_luka_help() {
  local -a names=(
@NAMES@
  )
  _luka_verb
  [[ -n $PREFIX ]] && _describe -t names 'block or key' names
}

_luka_setting() {
  local -a keys=(
@KEYS@
  )
  if compset -P '*='; then
    case ${${words[CURRENT]#--set=}%%\=*} in
@SETTING_CASES@
    esac
  else
    _describe -t keys key keys -qS =
  fi
}

_luka_first() {
  _alternative 'verbs:verb:_luka_verb' 'files:configuration:_files -g "*.lua(-.)"'
}

_luka() {
  local curcontext=$curcontext state line
  _arguments -C \
    @SERVE@ \
    '*:: :->rest' && return
  [[ $state == rest ]] || return 1
  curcontext=${curcontext%:*:*}:luka-$words[1]:
  case $words[1] in
@CASES@
  *) _arguments \
      @SERVE_REST@ ;;
  esac
}

_luka "$@"
]==]

---@return string
function M.zsh()
  local names, settings, cases, list = {}, {}, {}, {}
  for _, name in ipairs(verbs.NAMES) do
    names[#names + 1] = ("    '%s:%s'"):format(name, quoted(verbs.get(name).summary))
    cases[#cases + 1] = ("  %s) _arguments \\\n      %s ;;"):format(name, zsh_specs(name, 6))
  end
  for _, key in ipairs(keys.list()) do
    list[#list + 1] = ("    '%s:%s'"):format(key.key, quoted(first_sentence(key.text)))
    if key.values then
      settings[#settings + 1] = ("    %s) compadd %s ;;"):format(key.key, table.concat(key.values, " "))
    elseif key.is_path then
      settings[#settings + 1] = ("    %s) _files ;;"):format(key.key)
    end
  end
  local serve = {}
  for _, option in ipairs(verbs.options(verbs.DEFAULT)) do serve[#serve + 1] = zsh_option(option) end
  local parts = {
    NAMES = "    " .. table.concat(keys.names(), "\n    "),
    VERBS = table.concat(names, "\n"), KEYS = table.concat(list, "\n"), SETTING_CASES = table.concat(settings, "\n"),
    SERVE = table.concat(serve, " \\\n    ") .. " \\\n    '1: :_luka_first'",
    SERVE_REST = table.concat(serve, " \\\n      "), CASES = table.concat(cases, "\n"),
  }
  return "#compdef luka\n" .. HEAD .. ZSH:gsub("@([%u_]+)@", parts)
end

return M
