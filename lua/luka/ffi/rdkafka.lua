-- SPDX-License-Identifier: Apache-2.0
-- librdkafka for `luka produce` and `luka consume`: declarations, loading, and what a producer and a consumer have in
-- common. Events are polled for; nothing of librdkafka ever calls into Lua. Failures are raised as errors with a code
-- that the command line knows.
local ffi = require "ffi"
local libc = require "luka.ffi.libc"

local M = {}

-- As in rdkafka.h of version 2.0; what is left out is not used. `_private` of a message is a pointer there.
ffi.cdef [[
void *dlopen(const char *name, int flags);

typedef struct rd_kafka_s rd_kafka_t;
typedef struct rd_kafka_conf_s rd_kafka_conf_t;
typedef struct rd_kafka_topic_s rd_kafka_topic_t;
typedef struct rd_kafka_topic_conf_s rd_kafka_topic_conf_t;
typedef struct rd_kafka_queue_s rd_kafka_queue_t;
typedef struct rd_kafka_op_s rd_kafka_event_t;
typedef struct rd_kafka_headers_s rd_kafka_headers_t;
typedef struct rd_kafka_error_s rd_kafka_error_t;

typedef struct {
  int err; rd_kafka_topic_t *rkt; int32_t partition; uint8_t *payload; size_t len; uint8_t *key; size_t key_len;
  int64_t offset; uintptr_t _private;
} rd_kafka_message_t;

struct rd_kafka_metadata_broker { int32_t id; char *host; int port; };
struct rd_kafka_metadata_partition {
  int32_t id; int err; int32_t leader; int replica_cnt; int32_t *replicas; int isr_cnt; int32_t *isrs;
};
struct rd_kafka_metadata_topic {
  char *topic; int partition_cnt; struct rd_kafka_metadata_partition *partitions; int err;
};
struct rd_kafka_metadata {
  int broker_cnt; struct rd_kafka_metadata_broker *brokers; int topic_cnt; struct rd_kafka_metadata_topic *topics;
  int32_t orig_broker_id; char *orig_broker_name;
};

typedef struct {
  char *topic; int32_t partition; int64_t offset; void *metadata; size_t metadata_size; void *opaque; int err; void *_private;
} rd_kafka_topic_partition_t;
typedef struct { int cnt; int size; rd_kafka_topic_partition_t *elems; } rd_kafka_topic_partition_list_t;

typedef struct {
  int vtype;
  union {
    const char *cstr; rd_kafka_topic_t *rkt; int32_t i32; int64_t i64; struct { const void *ptr; size_t size; } mem;
    rd_kafka_headers_t *headers; uintptr_t opaque; char _pad[64];
  } u;
} rd_kafka_vu_t;

rd_kafka_conf_t *rd_kafka_conf_new(void);
void rd_kafka_conf_destroy(rd_kafka_conf_t *conf);
int rd_kafka_conf_set(rd_kafka_conf_t *conf, const char *name, const char *value, char *text, size_t size);
void rd_kafka_conf_set_events(rd_kafka_conf_t *conf, int events);
void rd_kafka_conf_set_log_cb(rd_kafka_conf_t *conf, void *callback);
rd_kafka_t *rd_kafka_new(int type, rd_kafka_conf_t *conf, char *text, size_t size);
void rd_kafka_destroy(rd_kafka_t *rk);
int rd_kafka_outq_len(rd_kafka_t *rk);
const char *rd_kafka_err2str(int err);
int rd_kafka_last_error(void);
int rd_kafka_purge(rd_kafka_t *rk, int flags);

rd_kafka_queue_t *rd_kafka_queue_new(rd_kafka_t *rk);
rd_kafka_queue_t *rd_kafka_queue_get_main(rd_kafka_t *rk);
void rd_kafka_queue_destroy(rd_kafka_queue_t *queue);
rd_kafka_event_t *rd_kafka_queue_poll(rd_kafka_queue_t *queue, int timeout_ms);
int rd_kafka_event_type(const rd_kafka_event_t *event);
int rd_kafka_event_error(rd_kafka_event_t *event);
const char *rd_kafka_event_error_string(rd_kafka_event_t *event);
const char *rd_kafka_event_stats(rd_kafka_event_t *event);
const rd_kafka_message_t *rd_kafka_event_message_next(rd_kafka_event_t *event);
void rd_kafka_event_destroy(rd_kafka_event_t *event);

int rd_kafka_metadata(rd_kafka_t *rk, int all_topics, rd_kafka_topic_t *only_rkt,
                      const struct rd_kafka_metadata **metadata, int timeout_ms);
void rd_kafka_metadata_destroy(const struct rd_kafka_metadata *metadata);

rd_kafka_topic_t *rd_kafka_topic_new(rd_kafka_t *rk, const char *topic, rd_kafka_topic_conf_t *conf);
void rd_kafka_topic_destroy(rd_kafka_topic_t *rkt);

int rd_kafka_produce(rd_kafka_topic_t *rkt, int32_t partition, int flags, const void *payload, size_t len,
                     const void *key, size_t key_len, uintptr_t opaque);
rd_kafka_error_t *rd_kafka_produceva(rd_kafka_t *rk, const rd_kafka_vu_t *vus, size_t count);
int rd_kafka_error_code(const rd_kafka_error_t *error);
void rd_kafka_error_destroy(rd_kafka_error_t *error);
rd_kafka_headers_t *rd_kafka_headers_new(size_t initial_count);
rd_kafka_headers_t *rd_kafka_headers_copy(const rd_kafka_headers_t *headers);
void rd_kafka_headers_destroy(rd_kafka_headers_t *headers);
int rd_kafka_header_add(rd_kafka_headers_t *headers, const char *name, ssize_t name_size, const void *value, ssize_t value_size);

int rd_kafka_consume_start_queue(rd_kafka_topic_t *rkt, int32_t partition, int64_t offset, rd_kafka_queue_t *queue);
int rd_kafka_consume_stop(rd_kafka_topic_t *rkt, int32_t partition);
ssize_t rd_kafka_consume_batch_queue(rd_kafka_queue_t *queue, int timeout_ms, rd_kafka_message_t **messages, size_t size);
void rd_kafka_message_destroy(rd_kafka_message_t *message);
int64_t rd_kafka_message_timestamp(const rd_kafka_message_t *message, int *type);
int rd_kafka_message_headers(const rd_kafka_message_t *message, rd_kafka_headers_t **headers);
int rd_kafka_header_get_all(const rd_kafka_headers_t *headers, size_t index, const char **name, const void **value, size_t *size);
int rd_kafka_query_watermark_offsets(rd_kafka_t *rk, const char *topic, int32_t partition, int64_t *low, int64_t *high, int timeout_ms);
rd_kafka_topic_partition_list_t *rd_kafka_topic_partition_list_new(int size);
rd_kafka_topic_partition_t *rd_kafka_topic_partition_list_add(rd_kafka_topic_partition_list_t *list, const char *topic, int32_t partition);
void rd_kafka_topic_partition_list_destroy(rd_kafka_topic_partition_list_t *list);
int rd_kafka_offsets_for_times(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *offsets, int timeout_ms);
]]

M.PRODUCER, M.CONSUMER = 0, 1
M.PURGE_ALL = 3

--- Codes of errors that are looked at.
M.PARTITION_EOF, M.ALL_BROKERS_DOWN, M.TIMED_OUT, M.QUEUE_FULL, M.TRANSPORT = -191, -187, -185, -184, -195
M.UNKNOWN_TOPIC_OR_PART, M.LEADER_NOT_AVAILABLE, M.INVALID_TOPIC, M.AUTHORIZATION_FAILED = 3, 5, 17, 29
M.RESOLVE, M.AUTHENTICATION, M.MAX_POLL_EXCEEDED, M.AUTO_OFFSET_RESET = -193, -169, -147, -140

local NAME = "librdkafka.so.1"
local RTLD_NOW, RTLD_NODELETE = 2, 0x1000
local EVENT_DR, EVENT_ERROR, EVENT_STATS = 0x1, 0x8, 0x40
local CONF_OK = 0
local TEXT_SIZE = 512
local STEP_MS = 100 -- longest call that waits: signals are looked at in between
local ANSWER_MS = 10000 -- how long brokers may take to answer
local CREATION_MS = 2000 -- how long brokers may take to create a topic that is written to

--- An error that becomes the one line of the command line.
---
---@param text string
---@return luka.Error
function M.error(text, ...)
  return { code = "client", message = select("#", ...) > 0 and text:format(...) or text }
end

--- Raises such an error.
---
---@param text string
function M.fail(text, ...)
  error(M.error(text, ...), 0)
end

local library

--- The library.
---
---@return ffi.namespace*
function M.library()
  if not library then
    -- It stays until the process ends: its threads and what they leave behind do not bear to lose it with the Lua state.
    if ffi.C.dlopen(NAME, RTLD_NOW + RTLD_NODELETE) == nil then
      M.fail "librdkafka.so.1 is missing: install the Debian package librdkafka1"
    end
    library = ffi.load(NAME)
  end
  return library
end

--- The text of an error code.
---
---@param code integer
---@return string
function M.text(code)
  return ffi.string(M.library().rd_kafka_err2str(code))
end

---@class luka.KafkaClient
---@field C ffi.namespace*
---@field rk ffi.cdata*
---@field kind integer
---@field brokers string
---@field on_failure fun(line: integer, code: integer)?  a record was not delivered
---@field on_statistics fun(text: string)?  what librdkafka says of itself, every statistics.interval.ms
---@field last_error string?  what librdkafka said last about a connection
---@field is_down boolean  no broker can be reached
---@field signal integer?  number of a signal that asks to end
---@field private queue ffi.cdata*
---@field private signals integer  descriptor
local Client = {}
Client.__index = Client
M.Client = Client

--- Configures a client; raises a usage error for a property that is wrong.
local function configure(C, properties)
  local conf, text = C.rd_kafka_conf_new(), ffi.new("char[?]", TEXT_SIZE)
  for _, property in ipairs(properties) do
    if C.rd_kafka_conf_set(conf, property[1], property[2], text, TEXT_SIZE) ~= CONF_OK then
      C.rd_kafka_conf_destroy(conf)
      error({ code = "usage", message = ffi.string(text) }, 0)
    end
  end
  C.rd_kafka_conf_set_events(conf, EVENT_DR + EVENT_ERROR + EVENT_STATS)
  C.rd_kafka_conf_set_log_cb(conf, nil)
  return conf
end

--- Makes a client. SIGINT and SIGTERM are taken from here on: look at Client:interrupted().
---
---@param kind integer  PRODUCER or CONSUMER
---@param properties { [1]: string, [2]: string }[]  later ones win
---@param brokers string  for messages
---@return luka.KafkaClient  close it
function M.client(kind, properties, brokers)
  local C = M.library()
  local conf, text = configure(C, properties), ffi.new("char[?]", TEXT_SIZE)
  local signals, err = libc.take_signals { libc.SIGINT, libc.SIGTERM }
  if not signals then M.fail("cannot take signals: %s", err) end
  local rk = C.rd_kafka_new(kind, conf, text, TEXT_SIZE)
  if rk == nil then
    C.rd_kafka_conf_destroy(conf)
    error({ code = "usage", message = ffi.string(text) }, 0)
  end
  return setmetatable({
    C = C, rk = rk, kind = kind, brokers = brokers, signals = signals, queue = C.rd_kafka_queue_get_main(rk), is_down = false,
  }, Client)
end

--- The signal that asks to end, if one has come.
---
---@return integer?
function Client:interrupted()
  self.signal = libc.next_signal(self.signals) or self.signal
  return self.signal
end

--- Whether another signal came since.
---
---@return boolean
function Client:interrupted_again()
  return libc.next_signal(self.signals) ~= nil
end

function Client:take(event)
  local C = self.C
  local kind = C.rd_kafka_event_type(event)
  if kind == EVENT_ERROR then
    local code = C.rd_kafka_event_error(event)
    if code == M.ALL_BROKERS_DOWN then
      self.is_down = true
    else
      self.last_error = ffi.string(C.rd_kafka_event_error_string(event))
    end
  elseif kind == EVENT_STATS then
    if self.on_statistics then self.on_statistics(ffi.string(C.rd_kafka_event_stats(event))) end
  elseif kind == EVENT_DR then
    local message = C.rd_kafka_event_message_next(event)
    while message ~= nil do
      if message.err ~= 0 and self.on_failure then self.on_failure(tonumber(message._private), message.err) end
      message = C.rd_kafka_event_message_next(event)
    end
  end
end

--- Takes all events that are there; waits for the first.
---
---@param timeout_ms integer
function Client:poll(timeout_ms)
  while true do
    local event = self.C.rd_kafka_queue_poll(self.queue, timeout_ms)
    if event == nil then return end
    self:take(event)
    self.C.rd_kafka_event_destroy(event)
    timeout_ms = 0
  end
end

--- Why no broker answers, as one line.
---
---@return string
function Client:unreachable()
  local reason = self.last_error
  -- "host:port/bootstrap: Connect to ipv4#host:port failed: Connection refused (after 0ms in state CONNECT)"
  reason = reason and reason:gsub(" %(after .*$", ""):gsub("^.-: Connect to [^ ]+ failed: ", ""):gsub("^[^ ]-/bootstrap: ", "")
  return ("no broker answers at %s%s"):format(self.brokers, reason and ": " .. reason or "")
end

--- Asks again and again in short steps until there is an answer, and looks at events and signals in between.
---
---@param ask fun(timeout_ms: integer): integer  an error code
---@return integer? code  of the last answer; nil: interrupted
function Client:ask(ask)
  local deadline = libc.now_ms() + ANSWER_MS
  while true do
    local code = ask(STEP_MS)
    self:poll(0)
    if self:interrupted() then return nil end
    if code ~= M.TIMED_OUT and code ~= M.TRANSPORT then return code end
    if self.is_down or libc.now_ms() > deadline then M.fail("%s", self:unreachable()) end
  end
end

--- Partitions of a topic, which has to exist. A producer's question may make the broker create it, which takes a moment.
---
---@param rkt ffi.cdata*
---@param name string
---@return integer? count  nil: interrupted
function Client:partitions(rkt, name)
  local C, out = self.C, ffi.new "const struct rd_kafka_metadata *[1]"
  local now = libc.now_ms()
  local deadline, unknown_deadline, count = now + ANSWER_MS, now + (self.kind == M.PRODUCER and CREATION_MS or 0)
  repeat
    local code = self:ask(function(timeout_ms) return C.rd_kafka_metadata(self.rk, 0, rkt, out, timeout_ms) end)
    if not code then return nil end
    if code ~= 0 then M.fail("topic '%s': %s", name, M.text(code)) end
    local topic = out[0].topic_cnt > 0 and out[0].topics[0]
    local err = topic and topic.err or M.UNKNOWN_TOPIC_OR_PART
    count = err == 0 and topic.partition_cnt or nil
    C.rd_kafka_metadata_destroy(out[0])
    local is_unknown = err == M.UNKNOWN_TOPIC_OR_PART
    if is_unknown and libc.now_ms() > unknown_deadline then M.fail("there is no topic '%s'", name) end
    if err ~= 0 and not is_unknown and err ~= M.LEADER_NOT_AVAILABLE then
      M.fail("topic '%s': %s", name, M.text(err))
    end
    if not count then self:poll(STEP_MS) end
    if not count and libc.now_ms() > deadline then M.fail("topic '%s': %s", name, M.text(err)) end
  until count or self:interrupted()
  return count
end

--- Ends it; what is not delivered yet is lost.
function Client:close()
  local C = self.C
  C.rd_kafka_queue_destroy(self.queue)
  C.rd_kafka_destroy(self.rk)
  self.rk, self.queue = nil, nil
end

return M
