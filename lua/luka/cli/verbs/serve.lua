-- SPDX-License-Identifier: Apache-2.0
-- The description of `luka serve`.
local verbs = require "luka.cli.verbs"

---@type luka.Verb
return {
  summary = "start a broker in the foreground (the default)",
  text = {
    "Starts a broker in the foreground. Without a file all is default, also where there is a ./config.lua, which the log "
      .. "mentions: it is broker 1, listens on 127.0.0.1:9092 and keeps its data in ./luka-data. "
      .. "The log goes to standard error, one line an event.",
    "SIGTERM and SIGINT stop it cleanly; another one, more than a second later, at once. SIGHUP has it read its "
      .. "configuration again, as `luka reload` does, and report in the log.",
  },
  arguments = { verbs.CONFIG },
  options = {
    verbs.SET,
    { name = "adopt", text = "take up partitions in the data directories that the metadata does not know, Apache "
      .. "Kafka's above all. Without it that happens only where there is no metadata yet" },
    { name = "log-level", value = "LEVEL", kind = "choice", choices = { "error", "warn", "info", "debug" },
      text = "error, warn, info or debug; wins over log_level of the file" },
  },
  statuses = {
    { 0, "stopped cleanly" },
    { 1, "could not start or stop" },
    { 2, "wrong command line or configuration" },
  },
  examples = {
    { "With a configuration", "luka serve config.lua" },
    { "With none, on another port, with its data elsewhere",
      "luka serve --set listen=127.0.0.1:19092 --set data=/tmp/luka-data" },
    { "On the directory of a Kafka that was stopped", "luka serve --set data=/var/lib/kafka/data" },
  },
}
