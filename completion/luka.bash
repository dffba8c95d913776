# shellcheck shell=bash
# Made by scripts/docs.lua (make docs); do not edit.
# SPDX-License-Identifier: Apache-2.0
# Completion of luka's command line for bash; source it, or install it as share/bash-completion/completions/luka.

_luka_verbs="serve check console reload dump produce consume version help"

_luka_settings="advertise=
console=
data=
id=
listen=
log_dir_reserve_bytes=
log_level=
lua_budget_ms=
lua_memory=
metadata=
workers="

_luka_options()
{
  case $1 in
  serve) echo "--set --adopt --log-level --log-format --debug -h --help --version" ;;
  check) echo "--set --json --log-format --debug -h --help --version" ;;
  console) echo "-e --eval --json --set --log-format --debug -h --help --version" ;;
  reload) echo "--json --set --log-format --debug -h --help --version" ;;
  dump) echo "--json --log-format --debug -h --help --version" ;;
  produce) echo "--log-format --debug -h --help --version" ;;
  consume) echo "--json --log-format --debug -h --help --version" ;;
  version) echo "--log-format --debug -h --help --version" ;;
  help) echo "--log-format --debug -h --help --version" ;;
  esac
}

_luka_valued()
{
  case $1 in
  serve) echo "--set --log-level --log-format" ;;
  check) echo "--set --log-format" ;;
  console) echo "-e --eval --set --log-format" ;;
  reload) echo "--set --log-format" ;;
  dump) echo "--log-format" ;;
  produce) echo "--log-format" ;;
  consume) echo "--log-format" ;;
  version) echo "--log-format" ;;
  help) echo "--log-format" ;;
  esac
}

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
  console) _luka_file ;;
  data) _luka_file ;;
  log_level) _luka_word "error warn info debug" ;;
  metadata) _luka_file ;;
  esac
}

_luka_value()
{
  case $1 in
  serve:--set) _luka_setting ;;
  serve:--log-level) _luka_word "error warn info debug" ;;
  serve:--log-format) _luka_word "text json" ;;
  check:--set) _luka_setting ;;
  check:--log-format) _luka_word "text json" ;;
  console:--set) _luka_setting ;;
  console:--log-format) _luka_word "text json" ;;
  reload:--set) _luka_setting ;;
  reload:--log-format) _luka_word "text json" ;;
  dump:--log-format) _luka_word "text json" ;;
  produce:--log-format) _luka_word "text json" ;;
  consume:--log-format) _luka_word "text json" ;;
  version:--log-format) _luka_word "text json" ;;
  help:--log-format) _luka_word "text json" ;;
  esac
}

_luka_argument()
{
  local count=$2
  case $1 in
  serve) ((count == 0)) && _luka_lua ;;
  check) ((count == 0)) && _luka_lua ;;
  console) ((count == 0)) && _luka_file ;;
  reload) ((count == 0)) && _luka_file ;;
  dump) _luka_file ;;
  produce) ((count == 0)) && : ;;
  consume) ((count == 0)) && : ;;
  version) : ;;
  help) ((count == 0)) && _luka_word "$_luka_verbs" ;;
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
