-- SPDX-License-Identifier: Apache-2.0
-- What a wrong configuration is told: one line with file and line, key, value and what is allowed.
local evaluate = require "spec.unit.lua.evaluate"

local function refusal(text, sets)
  local result, message = evaluate.text(text, sets)
  assert.is_nil(result)
  return message
end

local NEEDS_UNSAFE = "is out of reach of a configuration: it needs broker { unsafe = true } before it"

--- Cases are { what, source, message }.
local function refuses(cases)
  for _, case in ipairs(cases) do
    it(case[1], function() assert.equal(case[3], refusal(case[2])) end)
  end
end

describe("a value of the wrong type or range", function()
  refuses {
    { "is shown with what is expected, at the line of its key", "broker {\n  workers = 2,\n  id = 'one',\n}",
      'config.lua:3: broker.id: got "one", expected a whole number from 0 to 2147483647' },
    { "may be a number that is too small", "broker { workers = 0 }",
      "config.lua:1: broker.workers: got 0, expected a whole number from 1 to 256" },
    { "may be a number that is too large", "broker { workers = 257 }",
      "config.lua:1: broker.workers: got 257, expected a whole number from 1 to 256" },
    { "may be a fraction", "broker { id = 1.5 }",
      "config.lua:1: broker.id: got 1.5, expected a whole number from 0 to 2147483647" },
    { "may be a boolean", "broker { id = true }",
      "config.lua:1: broker.id: got true, expected a whole number from 0 to 2147483647" },
    { "names the unit of our own keys", "broker { log_dir_reserve_bytes = -5 }",
      "config.lua:1: broker.log_dir_reserve_bytes: got -5, expected a whole number of bytes from 0 to 9007199254740991" },
    { "names the choices of a key that has them", "broker { log_level = 'verbose' }",
      'config.lua:1: broker.log_level: got "verbose", expected one of error, warn, info, debug' },
    { "names the unit of Kafka's configs", "broker { log_retention_ms = 'foobar' }",
      'config.lua:1: broker.log_retention_ms: got "foobar", expected a whole number of ms' },
    { "may be a duration with a unit in a string", "topic 'a' {\n  retention_ms = '7d' }",
      'config.lua:2: topic "a".retention_ms: got "7d", expected a whole number of ms, at least -1; write days(7)' },
    { "may be a size with a unit in a string", "broker { log_segment_bytes = '10MB' }",
      'config.lua:1: broker.log_segment_bytes: got "10MB", expected a whole number of bytes from 1048576 to 2147483647; '
        .. "write 10 * MiB" },
    { "may be a fraction where Kafka wants an integer", "broker { log_segment_bytes = 2000000.5 }",
      "config.lua:1: broker.log_segment_bytes: got 2000000.5, expected a whole number of bytes from 1048576 to 2147483647" },
    { "names the choices of Kafka's configs", "broker { compression_type = 'lz5' }",
      'config.lua:1: broker.compression_type: got "lz5", expected one of: uncompressed, zstd, lz4, snappy, gzip, producer' },
    { "shows the one of a list that is wrong", "broker { log_cleanup_policy = { 'compcat' } }",
      'config.lua:1: broker.log_cleanup_policy: got "compcat", expected a list of: compact, delete' },
    { "may be a string where Kafka wants a boolean", "broker { auto_create_topics_enable = 'yes' }",
      'config.lua:1: broker.auto_create_topics_enable: got "yes", expected true or false' },
    { "may be a function", "topic 'a' { retention_ms = function() end }",
      'config.lua:1: topic "a".retention_ms: got a function, expected a string, a number, a boolean or a list of those' },
    { "may be an element of a list", "broker { log_cleanup_policy = { 'compact', {} } }",
      "config.lua:1: broker.log_cleanup_policy: got a table, expected a string, a number, a boolean or a list of those" },
    { "may be a table with keys where a list is wanted", "broker { data = { a = 1 } }",
      'config.lua:1: broker.data: expected a list, but it has the key "a"' },
    { "may be a list with holes", "broker { data = { 'a', nil, 'c' } }",
      "config.lua:1: broker.data: expected a list without holes" },
    { "may be an empty list", "broker { data = {} }",
      "config.lua:1: broker.data: got an empty list, expected a path" },
    { "may be an empty path", "broker { metadata = '' }",
      'config.lua:1: broker.metadata: got "", expected a path' },
    { "may be true where a path or false is wanted", "broker { console = true }",
      "config.lua:1: broker.console: got true, expected a path, or false for none" },
    { "may be a memory too small to work with", "broker { lua_memory = 1 * MiB }",
      "config.lua:1: broker.lua_memory: got 1048576, expected a whole number of bytes from 16777216 to 1099511627776" },
    { "may be a budget of nothing", "broker { lua_budget_ms = 0 }",
      "config.lua:1: broker.lua_budget_ms: got 0, expected a whole number of ms from 1 to 60000" },
    { "may be a text with a zero byte", "broker { data = 'a\\0b' }",
      'config.lua:1: broker.data: got "a\\x00b", expected a path' },
    { "may be a number whose digits Lua has lost", "broker { log_retention_bytes = 9007199254740993 }",
      "config.lua:1: broker.log_retention_bytes: 9007199254740992 is 2^53 or more, where Lua numbers are not exact; "
        .. "write it as a string, or with LL behind it" },
    { "may be more than 64 bits hold", "broker {\n  log_retention_bytes = 9223372036854775808LL }",
      "config.lua:2: 9223372036854775808LL is more than 64 bits hold: at most 9223372036854775807LL" },
    { "may be one of our own whose digits Lua has lost", "broker { log_dir_reserve_bytes = 9007199254740993 }",
      "config.lua:1: broker.log_dir_reserve_bytes: got 9007199254740992, expected a whole number of bytes from 0 to "
        .. "9007199254740991" },
    { "may be infinite", "broker { log_retention_bytes = math.huge }",
      "config.lua:1: broker.log_retention_bytes: got inf, expected a finite number" },
    { "may be the number of partitions", "topic 'a' {\n  partitions = 0,\n}",
      'config.lua:2: topic "a".partitions: got 0, expected a whole number from 1 to 100000' },
    { "may be the whole block", "broker 'x'", 'config.lua:1: broker: got "x", expected a table: broker { ... }' },
    { "may be the whole topic", "topic 'a' (3)",
      'config.lua:1: topic "a": got 3, expected a table: topic "clicks" { ... }' },
    { "may stand without a key", "broker { 'x' }", 'config.lua:1: broker: got "x" without a key, expected key = value' },
    { "may be a value that two configs disagree about",
      "topic 'a' {\n  min_compaction_lag_ms = 10,\n  max_compaction_lag_ms = 5,\n}",
      'config.lua:3: topic "a".max_compaction_lag_ms: conflict topic config setting min.compaction.lag.ms (10) > '
        .. "max.compaction.lag.ms (5)" },
  }

  it("is cut in the message when it is long", function()
    local message = refusal(("broker { id = '%s' }"):format(("x"):rep(5000)))
    assert.equal(('config.lua:1: broker.id: got "%s...", expected a whole number from 0 to 2147483647'):format(("x"):rep(80)),
      message)
  end)
end)

describe("an address", function()
  refuses {
    { "needs a port", "broker { listen = { '127.0.0.1:9092',\n 'localhost' } }",
      "config.lua:1: broker.listen[2]: listener 'localhost' has no port, write host:port" },
    { "needs a port below 65536", "broker { listen = '127.0.0.1:99999' }",
      "config.lua:1: broker.listen: listener '127.0.0.1:99999': the port is a number from 0 to 65535, write host:port" },
    { "is not advertised when it is 0.0.0.0", "broker { listen = '0.0.0.0:9092', advertise = '0.0.0.0:9092' }",
      "config.lua:1: broker.advertise: '0.0.0.0:9092' cannot be advertised: clients cannot connect to 0.0.0.0; write the "
        .. "name or address by which they reach this machine" },
    { "is not listened on twice", "broker { listen = { '127.0.0.1:1', '127.0.0.1:1' } }",
      'config.lua:1: broker.listen[2]: "127.0.0.1:1" is in the list twice' },
    { "is advertised for each that is listened on",
      "broker {\n  listen = { '127.0.0.1:1', '127.0.0.1:2' },\n  advertise = 'h:1' }",
      "config.lua:3: broker.advertise: got 1 for the 2 of listen, expected one for each" },
    { "with TLS is not supported yet", "broker { listen = 'SSL://127.0.0.1:9093' }",
      "config.lua:1: broker.listen: listener 'SSL://127.0.0.1:9093': SSL is not supported yet, only PLAINTEXT is" },
  }

  it("is one of at most 16", function()
    local addresses = {}
    for i = 1, 17 do addresses[i] = ("'127.0.0.1:%d'"):format(i) end
    assert.equal("config.lua:1: broker.listen: got 17 of them, expected at most 16",
      refusal("broker { listen = { " .. table.concat(addresses, ", ") .. " } }"))
  end)
end)

describe("an unknown key or word", function()
  refuses {
    { "gets the nearest broker key", "broker {\n  id = 1,\n  wokers = 2,\n}",
      "config.lua:3: broker.wokers: unknown key, did you mean workers?" },
    { "gets the nearest Kafka config", "broker { log_retention_mss = 1 }",
      "config.lua:1: broker.log_retention_mss: unknown key, did you mean log_retention_ms?" },
    { "gets the nearest topic config", "topic 'a' { retention_mss = 1 }",
      'config.lua:1: topic "a".retention_mss: unknown key, did you mean retention_ms?' },
    { "gets the nearest default", "defaults { partition = 1 }",
      "config.lua:1: defaults.partition: unknown key, did you mean partitions?" },
    { "gets no suggestion when nothing is near", "broker { flux_capacitor = 1 }",
      "config.lua:1: broker.flux_capacitor: unknown key" },
    { "is sent from broker to defaults", "broker { retention_ms = 1 }",
      "config.lua:1: broker.retention_ms: belongs in defaults { ... } or in a topic" },
    { "is sent from defaults to broker", "defaults { workers = 1 }",
      "config.lua:1: defaults.workers: belongs in broker { ... }" },
    { "is sent from defaults to a topic", "defaults { remote_storage_enable = true }",
      "config.lua:1: defaults.remote_storage_enable: has no default for all topics; set it in a topic" },
    { "gets our key for one of Kafka's", "broker { log_dirs = 'x' }",
      "config.lua:1: broker.log_dirs: is set by `data` here" },
    { "is told apart from Kafka's that are not served", "broker { group_share_max_size = 5 }",
      "config.lua:1: broker.group_share_max_size: is Kafka's, and not supported yet" },
    { "gets the nearest topic config in a broker block, and where it goes", "broker { retentoin_ms = 1 }",
      "config.lua:1: broker.retentoin_ms: unknown key, did you mean retention_ms in defaults { ... } or in a topic?" },
    { "gets our key for what others call the port", "broker { port = 9092 }",
      "config.lua:1: broker.port: unknown key, use listen" },
    { "gets a topic's config for the broker's", "topic 'a' { log_retention_ms = 1 }",
      'config.lua:1: topic "a".log_retention_ms: unknown key, write retention_ms' },
    { "gets a topic's config for the broker's in another unit", "topic 'a' { log_retention_hours = 1 }",
      'config.lua:1: topic "a".log_retention_hours: unknown key, write retention_ms' },
    { "gets a default for the broker's config of that meaning", "defaults { log_retention_ms = 1 }",
      "config.lua:1: defaults.log_retention_ms: unknown key, write retention_ms" },
    { "gets a default for the broker's in another unit", "defaults { log_retention_hours = 1 }",
      "config.lua:1: defaults.log_retention_hours: unknown key, write retention_ms" },
    { "gets only what may stand there", "defaults { remote_storage_enabel = true }",
      "config.lua:1: defaults.remote_storage_enabel: unknown key" },
    { "gets a topic's key for the broker's number of partitions", "topic 'a' { num_partitions = 1 }",
      'config.lua:1: topic "a".num_partitions: unknown key, write partitions' },
    { "is sent from a topic to broker", "topic 'a' { workers = 1 }",
      'config.lua:1: topic "a".workers: belongs in broker { ... }' },
    { "gets the nearest word", "brokr { id = 1 }", "config.lua:1: unknown word brokr, did you mean broker?" },
    { "gets the nearest word when it is indexed", "strng.format('x')",
      "config.lua:1: unknown word strng, did you mean string?" },
    { "gets the nearest word when it is counted with", "topic 'a' { retention_bytes = 5 * GB }",
      "config.lua:1: unknown word GB, did you mean GiB?" },
    { "gets the unit for its small letters", "topic 'a' { retention_bytes = 5 * mb }",
      "config.lua:1: unknown word mb, did you mean MiB?" },
    { "gets no word when nothing is near", "frobnicate()", "config.lua:1: unknown word frobnicate" },
    { "gets the nearest word when it is a value", "topic 'a' {\n  retention_bytes = GB,\n}",
      "config.lua:2: unknown word GB, did you mean GiB?" },
    { "gets a variable of the file", "local_days = 7\nbroker { id = local_dais }",
      "config.lua:2: unknown word local_dais, did you mean local_days?" },
    { "is a misspelt false", "broker {\n  console = flase }", "config.lua:2: unknown word flase" },
    { "is found in a table made elsewhere", "local t = {\n wokers = 1 }\nbroker(t)",
      "config.lua:3: broker.wokers: unknown key, did you mean workers?" },
  }
end)

describe("a word used in the wrong way", function()
  refuses {
    { "is a size that is called", "broker {\n  log_segment_bytes = MiB(5),\n}",
      "config.lua:2: MiB is a number: write 5 * MiB" },
    { "is a duration of a text, which is shown", "topic 'a' { retention_ms = days('7') }",
      'config.lua:1: days: got "7", expected a number: days(7)' },
    { "is a duration of nothing", "topic 'a' { retention_ms = hours() }",
      "config.lua:1: hours: got nil, expected a number: hours(7)" },
    { "is a key with Kafka's dots", "topic 'a' {\n  partitions = 2,\n  retention.ms = 7,\n}",
      "config.lua:3: retention.ms: keys are in snake_case: retention_ms" },
    { "is a topic's name without quotes", "\ntopic my-topic { partitions = 2 }",
      'config.lua:2: topic my-topic: a topic\'s name goes in quotes: topic "my-topic" { ... }' },
    { "is a topic's name without quotes, further on", "broker {} topic clicks { }",
      'config.lua:1: topic clicks: a topic\'s name goes in quotes: topic "clicks" { ... }' },
    { "is a block in parentheses", "broker ( id = 1 )", "config.lua:1: broker: its keys go in braces: broker { ... }" },
    { "is a key as YAML has it", "broker:\n  id: 1", "config.lua:2: id: write id = value" },
    { "is a block as YAML has it", "broker: { id = 1 }", "config.lua:1: broker: write broker { ... }" },
    { "is a program to start", "os.execute 'ls'", "config.lua:1: os.execute " .. NEEDS_UNSAFE },
    { "is a file to open", "io.open 'x'", "config.lua:1: io " .. NEEDS_UNSAFE },
    { "is the library debug", "debug.getinfo(1)", "config.lua:1: debug is out of reach of a configuration" },
    { "is a file to run", "dofile 'x'", "config.lua:1: dofile is out of reach of a configuration" },
    { "is a field that is none of a library's", "local t = {}\nt.execute()",
      "config.lua:2: attempt to call field 'execute' (a nil value)" },
  }
end)

describe("two settings that do not agree", function()
  refuses {
    { "are blamed on the one that made it so, not on one whose name is in the message",
      "topic 'a' {\n  leader_replication_throttled_replicas = '*',\n  remote_storage_enable = true,\n  preallocate = true }",
      'config.lua:3: topic "a".remote_storage_enable: Tiered Storage functionality is disabled in the broker. Topic cannot '
        .. "be configured with remote log storage." },
    { "are blamed on the later one", "topic 'a' {\n  max_compaction_lag_ms = 5,\n  min_compaction_lag_ms = 10,\n}",
      'config.lua:3: topic "a".min_compaction_lag_ms: conflict topic config setting min.compaction.lag.ms (10) > '
        .. "max.compaction.lag.ms (5)" },
    { "may be a memory smaller than one request", "broker { queued_max_request_bytes = 1 * MiB }",
      "config.lua:1: broker.queued_max_request_bytes: got 1048576, expected at least socket_request_max_bytes (104857600), "
        .. "or 0 for no bound" },
    { "may be a memory smaller than a larger request",
      "broker {\n  queued_max_request_bytes = 150 * MiB,\n  socket_request_max_bytes = 200 * MiB }",
      "config.lua:2: broker.queued_max_request_bytes: got 157286400, expected at least socket_request_max_bytes (209715200), "
        .. "or 0 for no bound" },
    { "may be no connection for anybody", "broker { max_connections_per_ip = 0 }",
      "config.lua:1: broker.max_connections_per_ip: can be 0 only if max_connections_per_ip_overrides is set" },
    { "may be overrides of another form", "broker { max_connections_per_ip_overrides = '10.0.0.1:5,x' }",
      'config.lua:1: broker.max_connections_per_ip_overrides: got "10.0.0.1:5,x", expected host:count, with a count from 0 '
        .. "to 2147483647, or several with commas between" },
    { "may be a range that only the core knows", "broker {\n  log_roll_hours = 1,\n  log_roll_ms = 0,\n}",
      "config.lua:3: broker.log_roll_ms: got 0, expected 1 and more" },
  }
end)

describe("a file that nobody would heed", function()
  refuses {
    { "returns a table", "\nreturn { broker = { id = 1 } }",
      "config.lua:2: returns a table, which nobody reads; write broker { ... }, defaults { ... } and topic \"name\" { ... }" },
    { "returns a number", "broker { id = 1 } return 1",
      "config.lua:1: returns 1, which nobody reads; write broker { ... }, defaults { ... } and topic \"name\" { ... }" },
    { "sets variables for words", "broker = { id = 1 }",
      "config.lua:1: broker is a word of the configuration and cannot be set: write broker { ... }" },
    { "sets a unit", "KiB = 1000", "config.lua:1: KiB is a word of the configuration and cannot be set" },
    { "sets only variables", "ide = 1\nlisteners = { '127.0.0.1:1' }",
      'config.lua: sets nothing; write broker { ... }, defaults { ... } and topic "name" { ... }' },
    { "sets a key outside of the braces", "broker { id = 1 }\nretention_ms = days(7)",
      "config.lua:2: retention_ms: is a variable here, which nothing reads; write defaults { retention_ms = ... }" },
    { "sets a key of the broker outside of the braces", "\nworkers = 2\ntopic 'a' {}",
      "config.lua:2: workers: is a variable here, which nothing reads; write broker { workers = ... }" },
  }

  it("may be one whose words are not called this time", function()
    assert.truthy(evaluate.text "if os.getenv 'NO_SUCH_VARIABLE' then broker { id = 2 } end")
  end)

  it("may be one of comments", function() assert.truthy(evaluate.text "-- nothing\n--[[ to say ]]") end)
end)

describe("a replication factor above 1", function()
  refuses {
    { "is refused as a default", "defaults {\n  replication_factor = 3,\n}",
      "config.lua:2: defaults.replication_factor: got 3, but this broker is alone: the replication factor is 1" },
    { "is refused in a topic", "topic 'a' {\n  replication_factor = 2 }",
      'config.lua:2: topic "a".replication_factor: got 2, but this broker is alone: the replication factor is 1' },
    { "is refused as a broker config", "broker { default_replication_factor = 2 }",
      "config.lua:1: broker.default_replication_factor: got 2, but this broker is alone: the replication factor is 1" },
  }
end)

describe("what comes later", function()
  refuses {
    { "is refused as ZooKeeper", "broker { zookeeper = '10.0.0.1:2181/luka' }",
      "config.lua:1: broker.zookeeper: is not supported yet" },
    { "is refused as a listener between brokers", "broker { inter_broker_listener = 'x' }",
      "config.lua:1: broker.inter_broker_listener: is not supported yet" },
    { "is refused where Kafka's config would be ignored", "broker { group_share_session_timeout_ms = 45000 }",
      "config.lua:1: broker.group_share_session_timeout_ms: is Kafka's, and not supported yet" },
  }
end)

describe("the line of a key", function()
  local message = "broker.workers: got 0, expected a whole number from 1 to 256"
  refuses {
    { "is right behind a byte order mark", "\239\187\191broker {\n\n  workers = 0 }", "config.lua:3: " .. message },
    { "is right behind a byte order mark and a #! line", "\239\187\191#!luka 'x\nbroker {\n\n  workers = 0 }",
      "config.lua:4: " .. message },
    { "is right where lines end as on Windows", "broker {\r\n\r\n  workers = 0 }\r\n", "config.lua:3: " .. message },
    { "is right where lines end in a return", "-- a\rbroker {\r\r  workers = 0 }", "config.lua:4: " .. message },
    { "is right with tabs", "\tbroker\t{\n\tworkers\t=\t0\t}", "config.lua:2: " .. message },
  }
end)

describe("a message", function()
  refuses {
    { "has nothing that a terminal obeys", "broker { log_level = '\27[31m\194\155\195\188' }",
      'config.lua:1: broker.log_level: got "\\x1b[31m\\xc2\\x9b\195\188", expected one of error, warn, info, debug' },
  }
end)

describe("saying it twice", function()
  refuses {
    { "is refused for broker", "broker { id = 1 }\nbroker { id = 2 }",
      "config.lua:2: broker: given already at config.lua:1" },
    { "is refused for defaults", "defaults {}\n\ndefaults {}", "config.lua:3: defaults: given already at config.lua:1" },
    { "is refused for a topic", 'topic "a" {}\ntopic "b" {}\ntopic "a" {}',
      'config.lua:3: topic "a": given already at config.lua:1' },
    { "is refused for topics that differ in . and _ alone", 'topic "a.b" {}\ntopic "a_b" {}',
      'config.lua:2: topic "a_b": collides with topic "a.b" at config.lua:1: names may not differ in \'.\' and \'_\' alone' },
    { "is refused for a key of a block", "broker {\n  id = 1,\n  id = 2,\n}",
      "config.lua:3: broker.id: given already at config.lua:2" },
    { "is refused for a default that the broker block has", "broker { log_retention_ms = 1 }\ndefaults { retention_ms = 1 }",
      "config.lua:2: defaults.retention_ms: given already as broker.log_retention_ms at config.lua:1" },
    { "is refused for a default that the broker block has in hours",
      "defaults { retention_ms = 1 }\nbroker { log_retention_hours = 1 }",
      "config.lua:1: defaults.retention_ms: given already as broker.log_retention_hours at config.lua:2" },
    { "is refused for a config of the same name", "broker { min_insync_replicas = 1 }\ndefaults { min_insync_replicas = 1 }",
      "config.lua:2: defaults.min_insync_replicas: given already as broker.min_insync_replicas at config.lua:1" },
  }
end)

describe("a topic", function()
  refuses {
    { "needs a name that Kafka allows", "topic 'a b' {}",
      "config.lua:1: topic \"a b\": Topic name is invalid: 'a b' contains one or more characters other than ASCII "
        .. "alphanumerics, '.', '_' and '-'" },
    { "needs a name that is a text", "topic (5)", 'config.lua:1: topic: got 5, expected a name: topic "clicks" { ... }' },
    { "needs its braces", "\ntopic 'a'\n",
      'config.lua:2: topic "a": has no settings: write topic "a" {} to take the defaults' },
    { "is not the metadata log", "topic '__cluster_metadata' {}",
      'config.lua:1: topic "__cluster_metadata": is a name that nobody may use' },
  }
end)

describe("an error in the program", function()
  refuses {
    { "of syntax names file and line", "broker {\n  id = 1\n  listen = 2\n}",
      "config.lua:3: '}' expected (to close '{' at line 1) near 'listen': is a comma missing before it?" },
    { "of syntax that compares as other languages do says how Lua does", "local x = 1\nif x != 2 then end",
      "config.lua:2: 'then' expected near '!': not equal is ~= in Lua" },
    { "of syntax that sets where it should compare says so", "local x = 1\nif x = 2 then end",
      "config.lua:2: 'then' expected near '=': equal is == in Lua" },
    { "of syntax that adds as other languages do says how Lua does", "local x = 1\nx += 2",
      "config.lua:2: '=' expected near '+': write x = x + y for x += y" },
    { "of syntax that negates as other languages do says how Lua does", "local x = !true",
      "config.lua:1: unexpected symbol near '!': write not x for !x" },
    { "of syntax with && says how Lua has it", "local x = 1 && 2", "config.lua:1: unexpected symbol near '&': && is and in Lua" },
    { "of syntax that is a time with a unit says how to write it", "topic 'a' {\n  retention_ms = 7d,\n}",
      "config.lua:2: malformed number near '7d': write days(7)" },
    { "of syntax that is a size with a unit says how to write it", "topic 'a' { segment_bytes = 10m }",
      "config.lua:1: malformed number near '10m': write 10 * MiB" },
    { "of syntax on a very long line is explained at once", ("x"):rep(1000000) .. " = 7d",
      "config.lua:1: malformed number near '7d': write days(7)" },
    { "of syntax in a number that is none says no more", "topic 'a' { segment_bytes = 10zz }",
      "config.lua:1: malformed number near '10zz'" },
    { "that it raises names file and line", "\nerror 'boom'", "config.lua:2: boom" },
    { "raised without a place gets the last line that ran", "\n\nerror('boom', 0)", "config.lua:3: boom" },
    { "may be a table", "\nerror({})", "config.lua:2: the error raised is a table, not a text" },
    { "may be nil", "error()", "config.lua:1: the error raised is a nil, not a text" },
    { "may be a function", "error(print)", "config.lua:1: the error raised is a function, not a text" },
    { "may be a thread", "error(coroutine.create(print))", "config.lua:1: the error raised is a thread, not a text" },
    { "may be C data", "error(1LL)", "config.lua:1: the error raised is a cdata, not a text" },
    { "may be a number", "error(42)", "config.lua:1: 42" },
    { "may be a table that tells its text", "\nerror(setmetatable({}, { __tostring = function() return 'boom' end }))",
      "config.lua:2: boom" },
    { "may be a table that cannot tell its text", "\nerror(setmetatable({}, { __tostring = function() error 'no' end }))",
      "config.lua:2: the error raised is a table, not a text" },
    { "may be a table whose text is none", "\nerror(setmetatable({}, { __tostring = function() return 5 end }))",
      "config.lua:2: the error raised is a table, not a text" },
    { "may look like one of ours", "error({ code = 'config', message = 'a\\nb' })", "a | b" },
    { "may have several lines and control characters", "error('a\\nb\\27[31m\\200')", "config.lua:1: a | b\\x1b[31m\\xc8" },
    { "may come out of many coroutines",
      "local function nest(n) if n == 0 then error 'deep' end coroutine.wrap(nest)(n - 1) end\nnest(5)",
      "config.lua:1: deep" },
    { "of a library function names the call", "\nlocal x = ('x'):rep({})",
      "config.lua:2: bad argument #1 to 'rep' (number expected, got table)" },
  }

  it("is cut when it is long, between characters", function()
    assert.equal("config.lua:1: " .. ("x"):rep(900) .. "...", refusal "error(('x'):rep(1e6), 0)")
    assert.equal("config.lua:1: " .. ("\195\164"):rep(450) .. "...", refusal "error(('\195\164'):rep(1e6), 0)")
    assert.equal("config.lua:1: x" .. ("\195\164"):rep(449) .. "...", refusal "error('x' .. ('\195\164'):rep(1e6), 0)")
    assert.equal(("x"):rep(900) .. "...", refusal "error({ code = 'config', message = ('x'):rep(2e7) })")
  end)

  it("has a traceback when it is asked for", function()
    local _, message, trace = evaluate.text("local function f() error 'boom' end\nf()", nil, true)
    assert.equal("config.lua:1: boom", message)
    assert.truthy(trace:find("stack traceback:", 1, true))
    assert.truthy(trace:find("config.lua:2: in ", 1, true))
  end)

  it("has no traceback otherwise", function()
    assert.is_nil(select(3, evaluate.text "error 'boom'"))
  end)

  it("names the whole path, however long it is", function()
    local folder = ("long"):rep(25)
    evaluate.write(folder .. "/config.lua", "\nbroker { id = 'x' }")
    local path = evaluate.folder .. "/" .. folder .. "/config.lua"
    assert.equal(path .. ':2: broker.id: got "x", expected a whole number from 0 to 2147483647', select(2, evaluate.file(path)))
    evaluate.write(folder .. "/config.lua", "\n\nerror 'boom'")
    assert.equal(path .. ":3: boom", select(2, evaluate.file(path)))
  end)
end)

describe("a module", function()
  it("that is missing names the line that requires it", function()
    assert.equal("config.lua:2: module 'nope' not found: there is no file nope.lua", refusal "\nrequire 'nope'")
  end)

  it("with an error names its own file and line", function()
    evaluate.write("wrong.lua", "local a = 1\nbroker { id = 'x' }")
    assert.equal('wrong.lua:2: broker.id: got "x", expected a whole number from 0 to 2147483647', refusal "require 'wrong'")
    evaluate.write("broken.lua", "local a = 1\nlocal b = = 2")
    assert.equal("broken.lua:2: unexpected symbol near '='", refusal "require 'broken'")
  end)

  it("that requires itself is refused", function()
    evaluate.write("loop_a.lua", "require 'loop_b'")
    evaluate.write("loop_b.lua", "\nrequire 'loop_a'")
    assert.equal("loop_b.lua:2: module 'loop_a' requires itself", refusal "require 'loop_a'")
  end)

  it("that is a folder is refused", function()
    evaluate.write("folder.lua/x", "")
    assert.equal("config.lua:1: module 'folder': folder.lua cannot be read: Is a directory", refusal "require 'folder'")
  end)

  it("is never outside the folder of config.lua", function()
    for _, name in ipairs { "../x", "..", "/etc/passwd", "a/b", "", "a..b", ".a", "a." } do
      assert.equal(("config.lua:1: module name '%s' is not allowed: write \"policies.x\" for policies/x.lua"):format(name),
        refusal(("require '%s'"):format(name)))
    end
  end)

  it("is not one of ours", function()
    assert.equal("config.lua:1: module 'luka.config' is not for configuration files", refusal "require 'luka.config'")
    assert.equal("config.lua:1: module name 'ffi ' is not allowed: write \"policies.x\" for policies/x.lua",
      refusal "require 'ffi '")
    assert.equal("config.lua:1: module 'jit' not found: there is no file jit.lua", refusal "require 'jit'")
  end)
end)

describe("--set", function()
  for sets, expected in pairs {
    ["id=x"] = '--set id: got "x", expected a whole number from 0 to 2147483647',
    ["id="] = '--set id: got "", expected a whole number from 0 to 2147483647',
    ["wokers=1"] = "--set wokers: unknown key, did you mean workers?",
    ["retention_ms=5"] = "--set retention_ms: unknown key, did you mean log_retention_ms?",
    ["partitions=5"] = "--set partitions: unknown key, did you mean num_partitions?",
    ["log_dir_reserve_bytes=64MiB"] =
      '--set log_dir_reserve_bytes: got "64MiB", expected a whole number of bytes from 0 to 9007199254740991; '
        .. "write 67108864",
    ["log_retention_ms=7d"] =
      '--set log_retention_ms: got "7d", expected a whole number of ms; write 604800000',
    ["log.retention.ms=days(7)"] =
      '--set log.retention.ms: got "days(7)", expected a whole number of ms; write 604800000',
    ["log.retention.ms=7 moons"] =
      '--set log.retention.ms: got "7 moons", expected a whole number of ms; units work only in config.lua',
    ["log.retention.hours=2d"] = '--set log.retention.hours: got "2d", expected a whole number of hours '
      .. "from -2147483648 to 2147483647; write 48",
    ["log.retention.ms=x"] = '--set log.retention.ms: got "x", expected a whole number of ms',
    ["retentoin_ms=1"] = "--set retentoin_ms: unknown key, did you mean log_retention_ms?",
    ["default.replication.factor=2"] =
      "--set default.replication.factor: got 2, but this broker is alone: the replication factor is 1",
    ["listen=127.0.0.1:1,127.0.0.1:2"] =
      '--set listen: got "127.0.0.1:1,127.0.0.1:2": repeat --set listen= for each address',
    ["log_segment_bytes=1"] = '--set log_segment_bytes: got "1", expected a whole number of bytes from 1048576 to 2147483647',
    ["zookeeper=x"] = "--set zookeeper: is not supported yet",
    ["remote.storage.enable=true"] =
      '--set remote.storage.enable: is a topic config: write it in config.lua, topic "..." { remote_storage_enable = ... }',
    ["listeners=x"] = "--set listeners: is set by `listen` here",
  } do
    it("refuses " .. sets, function() assert.equal(expected, refusal("", { sets })) end)
  end

  it("is held against the file", function()
    assert.equal("--set listen: \"127.0.0.1:1\" is in the list twice",
      (refusal("", { "listen=127.0.0.1:1", "listen=127.0.0.1:1" }):gsub("%[2%]", "")))
    assert.equal("config.lua:1: broker.advertise: got 1 for the 2 of listen, expected one for each",
      refusal("broker { advertise = 'h:1' }", { "listen=127.0.0.1:1", "listen=127.0.0.1:2" }))
  end)
end)
