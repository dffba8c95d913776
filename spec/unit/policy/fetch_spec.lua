-- SPDX-License-Identifier: Apache-2.0
-- The way out of records: what a client gets of stored batches when a view chooses and `transform_fetch` changes. The
-- VM is made of Lua functions on the structs of C.
local ffi = require "ffi"
local bit = require "bit"
local unit = require "spec.support.unit"
local batches = require "spec.unit.record.batches"
local messages = require "spec.unit.record.messages"

local C = unit.load("policy/fetch.h", "policy/policy.h", "policy/runner.h", "base/arena.h", "record/split.h")
local batch = batches.batch

local TRANSFORM = "int (*)(struct policy_vm *, const struct policy *, const struct policy_batch *,"
  .. " const struct policy_client *, struct policy_output *, struct policy_failure *)"

describe("records on their way out", function()
  local vm, class, scratch, job, fetch, policies, kept, seen, decide, client
  local callback

  --- What one record says to a policy and what becomes of it, by the functions of `decide`.
  local function transform(_, policy, of, who, output, failure)
    local fn = decide[ffi.string(policy.name)]
    seen[#seen + 1] = { policy = ffi.string(policy.name), topic = ffi.string(of.topic), partition = of.partition,
      count = of.count, client = ffi.string(who.id) }
    for i = 0, of.count - 1 do
      local record = of.records[i]
      local what = fn { offset = tonumber(record.offset), value = batches.bytes_of(record.value, record.value_size),
        key = batches.bytes_of(record.key, record.key_size), view = record, output = output, failure = failure }
      if type(what) == "string" then
        if output.replaced == nil then
          output.replaced = C.arena_zalloc(output.arena, of.count * ffi.sizeof "struct policy_record")
        end
        local text = unit.buffer(what)
        kept[#kept + 1] = text
        local made = output.replaced[i]
        made.key, made.key_size, made.value, made.value_size = record.key, record.key_size, text, #what
        made.headers, made.headers_size, made.header_count = record.headers, record.headers_size, record.header_count
        made.timestamp = record.timestamp
        what = C.POLICY_REPLACE
      elseif type(what) == "table" then
        ffi.copy(failure.text, what.fail)
        return -35
      end
      output.actions[i] = what == false and C.POLICY_DROP or what == true and C.POLICY_KEEP or what
    end
    return 0
  end

  setup(function()
    jit.off(transform)
    callback = ffi.cast(TRANSFORM, transform)
  end)
  teardown(function() callback:free() end)

  local function policy(name)
    local one, counters = ffi.new "struct policy", ffi.new "struct policy_counters"
    local text = unit.buffer(name .. "\0")
    one.kind = name == "view" and C.POLICY_WHERE or C.POLICY_TRANSFORM_FETCH
    one.name, one.counters, one.line, one.source = ffi.cast("const char *", text), counters, 7, "config.lua"
    kept[#kept + 1], kept[#kept + 2], kept[#kept + 3] = one, counters, text
    policies[name] = one
    return one
  end

  before_each(function()
    kept, seen, decide, policies = {}, {}, {}, {}
    class, vm, scratch, job = ffi.new "struct policy_vm_class", ffi.new "struct policy_vm", ffi.new "struct policy_scratch",
      ffi.new "struct policy_job"
    class.transform = callback
    vm.class, job.scratch = class, scratch
    client = ffi.new("struct policy_client", { id = "me", principal = "User:ANONYMOUS", address = "127.0.0.1" })
  end)
  after_each(function()
    for _, one in pairs(policies) do C.policy_counters_destroy(one.counters) end
    C.batch_records_close(scratch.records)
    C.arena_destroy(scratch.arena)
  end)

  --- Sends batches through; returns the answer's bytes, or nil and the error; and how many batches went in.
  local function pass(list, options)
    local o = options or {}
    fetch = ffi.new("struct policy_fetch", { magic = o.magic or 2, first_offset = o.first_offset or 0,
      limit_bytes = o.limit or 1000000, batch_max_bytes = 100000, partition = 5, topic = "t" })
    fetch.job, fetch.vm, fetch.client = job, vm, client
    if decide.view then fetch.where = policy "view" end
    if decide.t then fetch.transform = policy "t" end
    local used, code = 0, 1
    for _, bytes in ipairs(list) do
      local copy = unit.buffer(bytes)
      code = C.policy_fetch_batch(fetch, copy, #bytes)
      if code <= 0 then break end
      used = used + 1
    end
    local out
    if code >= 0 or C.policy_fetch_has_any(fetch) then
      assert.equal(0, C.policy_fetch_finish(fetch))
      out = fetch.out.size > 0 and ffi.string(fetch.out.bytes, fetch.out.size) or ""
    end
    local failure = ffi.string(fetch.failure.text)
    C.policy_fetch_destroy(fetch)
    if not out then return nil, batches.name(code), failure end
    return out, used, code < 0 and batches.name(code) or nil
  end

  --- The batches of an answer as { base, last, values... }.
  local function shown(bytes)
    local list, at = {}, 1
    while at <= #bytes do
      local name, header = batches.header(bytes:sub(at))
      assert.equal("0", name)
      assert.equal("0", batches.check(bytes:sub(at)))
      local size = tonumber(header.size)
      local one = { tonumber(header.base_offset), tonumber(header.base_offset) + header.last_offset_delta }
      for _, record in ipairs(assert(batches.read(bytes:sub(at, at + size - 1)))) do
        one[#one + 1] = ("%d=%s"):format(tonumber(record.offset), record.value or "null")
      end
      list[#list + 1] = one
      at = at + size
    end
    return list
  end

  local function one(base, values, more)
    local options = { base = base, records = values }
    for key, value in pairs(more or {}) do options[key] = value end
    return batch(options)
  end

  it("are the stored bytes where no policy changes anything", function()
    decide.view = function() return true end
    decide.t = function() return true end
    local list = { one(0, { "a", "b" }), one(2, { "c" }, { codec = 4 }) }
    assert.equal(unit.hex(table.concat(list)), unit.hex((pass(list))))
    assert.equal(4, #seen)
    assert.same({ policy = "view", topic = "t", partition = 5, count = 2, client = "me" }, seen[1])
  end)

  it("keep their offsets when others are left out", function()
    decide.view = function(record) return record.value ~= "b" end
    assert.same({ { 10, 12, "10=a", "12=c" } }, shown((pass { one(10, { "a", "b", "c" }) })))
  end)

  it("become one empty batch where none of several batches are shown", function()
    decide.view = function(record) return record.value == "x" end
    local list = { one(5, { "a", "b" }, { leader_epoch = 3 }),
      one(7, { "c" }, { leader_epoch = 3 }), one(20, { "d" }, { leader_epoch = 4 }) }
    local bytes, used = pass(list)
    assert.same({ { 5, 20, "20=null" } }, shown(bytes))
    assert.equal(3, used)
    local _, header = batches.header(bytes)
    assert.equal(4, header.leader_epoch)
    assert.equal(1000, tonumber(header.max_timestamp))
    assert.equal(-1, tonumber(header.producer_id))
  end)

  it("become empty batches around those that are shown", function()
    decide.view = function(record) return record.value == "x" end
    local list = { one(0, { "a" }), one(1, { "b" }), one(2, { "x", "c" }), one(4, { "d" }) }
    assert.same({ { 0, 1 }, { 2, 3, "2=x" }, { 4, 4 } }, shown((pass(list))))
  end)

  it("have an empty batch for one that compaction has emptied", function()
    decide.view = function() return true end
    local list = { one(0, {}, { last_delta = 4 }), one(5, { "a" }) }
    assert.same({ { 0, 4 }, { 5, 5, "5=a" } }, shown((pass(list))))
  end)

  it("have a control record of an unknown type where there would be none", function()
    decide.view = function(record) return record.value == "x" end
    local bytes = pass { one(5, { "a", "b" }), one(7, { "c" }) }
    local _, header = batches.header(bytes)
    assert.is_true(batches.is_control(header))
    assert.equal("\0\0\255\255", batches.read(bytes)[1].key)
    _, header = batches.header((pass { one(5, { "a" }), one(6, { "x" }) }))
    assert.is_false(batches.is_control(header))
    assert.equal(0, header.record_count)
  end)

  it("are none of those before the offset that is asked for", function()
    decide.view = function(record) return record.value == "x" end
    assert.same({ { 0, 4, "4=null" } }, shown((pass({ one(0, { "x", "a", "b" }), one(3, { "c", "d" }) }, { first_offset = 1 }))))
  end)

  it("fill two empty batches where a stretch has more offsets than one can span", function()
    decide.view = function() return false end
    local list = { one(0, { "a" }), one(2147483647, { "b" }), one(2147483648LL, { "c" }) }
    assert.same({ { 0, 2147483647 }, { 2147483648, 2147483648, "2147483648=null" } }, shown((pass(list))))
  end)

  it("are changed by transform_fetch, keys, headers and the rest stay", function()
    decide.t = function(record) return record.value == "4111" and "****" or true end
    local stored = one(3, { { key = "k", value = "4111", headers = { { "h", "1" } } }, "b" }, { step = 5 })
    local bytes = pass { stored }
    local records = batches.read(bytes)
    assert.same({ "k", "****", { { "h", "1" } } }, { records[1].key, records[1].value, records[1].headers })
    assert.same({ "b", 1005 }, { records[2].value, tonumber(records[2].timestamp) })
  end)

  it("stay packed as they were when they are changed", function()
    decide.t = function(record) return record.value:upper() end
    for codec = 0, 4 do
      local bytes = pass { one(0, { "aa", "bb" }, { codec = codec }) }
      local _, header = batches.header(bytes)
      assert.equal(codec, bit.band(header.attributes, 7))
      assert.same({ { 0, 1, "0=AA", "1=BB" } }, shown(bytes))
    end
  end)

  it("are seen by transform_fetch only where the view shows them, which decides on what is stored", function()
    decide.view = function(record) return record.value ~= "b" end
    local given = {}
    decide.t = function(record)
      given[#given + 1] = record.offset
      if record.value == "c" then return false end
      return record.value .. "!"
    end
    assert.same({ { 0, 3, "0=a!", "3=d!" } }, shown((pass { one(0, { "a", "b", "c", "d" }) })))
    assert.same({ 0, 2, 3 }, given)
  end)

  it("do not reach transform_fetch at all where the view shows none of a batch", function()
    decide.view = function() return false end
    decide.t = function() error "called" end
    assert.same({ { 0, 1, "1=null" } }, shown((pass { one(0, { "a", "b" }) })))
    assert.equal(1, #seen)
  end)

  it("leave control batches alone", function()
    decide.view = function() return false end
    local marker = one(1, { { key = "\0\0\0\0", value = "" } }, { attributes = 0x20, producer_id = 7 })
    local bytes = pass { one(0, { "a" }), marker, one(2, { "b" }) }
    local list = shown(bytes)
    assert.same({ 0, 0 }, list[1])
    assert.same({ 1, 1, "1=" }, list[2])
    assert.same({ 2, 2 }, list[3])
    assert.is_truthy(bytes:find(marker, 1, true))
  end)

  it("end before the batch that would make the answer too large", function()
    decide.t = function(record) return record.value:rep(2) end
    local list = { one(0, { ("a"):rep(100) }), one(1, { ("b"):rep(100) }), one(2, { ("c"):rep(100) }) }
    local bytes, used = pass(list, { limit = 600 })
    assert.equal(2, used)
    assert.equal(2, #shown(bytes))
  end)

  it("come whole in the first batch, whatever its size", function()
    decide.t = function(record) return record.value:rep(20) end
    local bytes, used = pass({ one(0, { ("a"):rep(100) }), one(1, { "b" }) }, { limit = 100 })
    assert.equal(1, used)
    assert.equal(1, #shown(bytes))
  end)

  describe("of a policy that fails", function()
    it("are none, and the failure is counted", function()
      decide.t = function() return { fail = "config.lua:7: boom" } end
      local bytes, code, text = pass { one(0, { "a" }) }
      assert.is_nil(bytes)
      assert.equal("ERR_SCRIPT", code)
      assert.equal("config.lua:7: boom", text)
      assert.equal(1, tonumber(policies.t.counters.errors))
    end)

    it("are those before it; the error is for the fetch that begins there", function()
      decide.t = function(record) return record.value == "bad" and { fail = "x" } or true end
      local bytes, used, code = pass { one(0, { "a" }), one(1, { "bad" }) }
      assert.same({ { 0, 0, "0=a" } }, shown(bytes))
      assert.same({ 1, "ERR_SCRIPT" }, { used, code })
    end)

    it("are an empty batch up to it where none before it are shown", function()
      decide.view = function(record) return record.value == "bad" and { fail = "x" } or false end
      assert.same({ { 0, 1, "1=null" } }, shown((pass { one(0, { "a", "b" }), one(2, { "bad" }) })))
    end)

    it("name it when it changes records in a view", function()
      decide.view = function() return "x" end
      local _, code, text = pass { one(0, { "a" }) }
      assert.equal("ERR_SCRIPT", code)
      assert.equal("where of view view (config.lua:7): records can be shown or not, and not changed", text)
    end)

    it("name it when it makes more records than there are", function()
      decide.t = function(record)
        record.output.extra_count = 1
        record.output.extras = C.arena_zalloc(record.output.arena, ffi.sizeof "struct policy_record")
        return true
      end
      local _, code, text = pass { one(0, { "a" }) }
      assert.equal("ERR_SCRIPT", code)
      assert.equal("transform_fetch of topic t (config.lua:7): what is fetched cannot have more records than are stored", text)
    end)
  end)

  it("are refused with the reason by a policy that rejects", function()
    decide.t = function(record)
      local output = record.output
      output.reject_count, output.rejects = 1, C.arena_zalloc(output.arena, ffi.sizeof "struct policy_reject")
      output.rejects[0].text = "not yours"
      return C.POLICY_REJECT
    end
    local _, code, text = pass { one(0, { "a" }) }
    assert.equal("ERR_PERMISSION", code)
    assert.equal("transform_fetch of topic t (config.lua:7): not yours", text)
  end)

  it("are refused where what is stored is damaged", function()
    decide.t = function() return true end
    assert.same({ nil, "ERR_INVALID_RECORD", "" }, { pass { one(0, { "a" }, { count = 2 }) } })
    assert.same({ nil, "ERR_DECOMPRESS", "" }, { pass { one(0, { "a" }, { codec = 2, payload = "nonsense" }) } })
  end)

  for magic = 0, 1 do
    describe(("for a client of format %d"):format(magic), function()
      local function values(list, options)
        options = options or {}
        options.magic = magic
        local out = {}
        for i, message in ipairs(messages.flatten((pass(list, options)))) do
          assert.is_true(message.is_intact)
          out[i] = ("%d=%s"):format(message.offset, message.value or "null")
        end
        return out
      end

      it("are messages", function()
        decide.view = function(record) return record.value ~= "b" end
        decide.t = function(record) return record.value:upper() end
        assert.same({ "0=A", "2=C", "3=D" }, values { one(0, { "a", "b", "c" }), one(3, { "d" }) })
      end)

      it("are one message of nothing at the end of a stretch without any", function()
        decide.view = function() return false end
        assert.same({ "12=null" }, values { one(0, { "a", "b" }), one(12, { "c" }) })
      end)

      it("have no such message where there are others", function()
        decide.view = function(record) return record.value == "x" end
        assert.same({ "2=x" }, values { one(0, { "a", "b" }), one(2, { "x" }), one(3, { "c" }) })
      end)

      for codec = 0, 3 do
        it(("get over the end of a batch whose last records are not shown: codec %d"):format(codec), function()
          decide.view = function(record) return record.value == "x" end
          assert.same({ "2=null" }, values({ one(0, { "x", "a", "b" }, { codec = codec }) }, { first_offset = 1 }))
        end)
      end

      it("get over control batches", function()
        decide.view = function() return false end
        assert.same({ "4=null" }, values { one(4, { { key = "\0\0\0\0", value = "" } }, { attributes = 0x20 }) })
      end)

      it("stay packed", function()
        decide.view = function(record) return record.value ~= "b" end
        local bytes = pass({ one(0, { "a", "b", "c" }, { codec = 1 }) }, { magic = magic })
        assert.equal(1, #(messages.parse(bytes)))
        assert.same({ "a", "c" }, messages.values(bytes))
      end)

      it("are refused where they are packed with zstd", function()
        decide.view = function() return true end
        assert.same({ nil, "ERR_UNSUPPORTED_CODEC", "" }, { pass({ one(0, { "a" }, { codec = 4 }) }, { magic = magic }) })
      end)
    end)
  end
end)
