#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kcat; run.py says what its arguments are. What has nothing behind it ends at the end of the topic.
kcat_for() { timeout "$LIMIT_S" kcat -b "$BROKERS" "$@"; }

consume()
{
  local mode=$1 topic=$2 start=$3 limit=$4 extra_ms=$5 part offset
  if [ "$mode" = group ]; then
    local stop=(-e)
    [ "$extra_ms" != 0 ] || stop=(-c "$limit")
    kcat_for -G "$start" -X auto.offset.reset=earliest "${stop[@]}" -q -f '%p %o %k\n' "$topic"
    return
  fi
  for part in 0 1 2; do
    offset=$(tr , '\n' <<<"$start" | sed -n "s/^$part://p")
    kcat_for -C -t "$topic" -p $part -o "${offset:-beginning}" -e -q -f '%p %o %k\n'
  done | if [ "$extra_ms" = 0 ]; then head -n "$limit"; else cat; fi
}

produce()
{
  local topic=$1 run=$2 count=$3 codec=$4 acks=$5 is_idempotent=false said
  [ "$6" = 0 ] || is_idempotent=true
  said=$(seq 0 $((count - 1)) | awk -v run="$run" '{ print "k" $1 % 50 ":" run "-" $1 }' | kcat_for -P -t "$topic" -K : \
    -z "$codec" -X acks="$acks" -X linger.ms=5 -X enable.idempotence=$is_idempotent -X message.timeout.ms=40000 2>&1)
  # shellcheck disable=SC2181
  if [ $? = 0 ] && [ -z "$said" ]; then echo ok; else echo "error $(tail -n 1 <<<"$said")"; fi
}

"$@"
