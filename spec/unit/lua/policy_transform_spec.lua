-- SPDX-License-Identifier: Apache-2.0
-- Transforms, transform_fetch and where of views as Lua functions, in both states: what becomes of records.
local calls = require "spec.unit.lua.policy_calls"

for _, jit in ipairs { "", "jit = true, " } do
  local what = jit == "" and "" or " that is compiled"

  describe("a transform" .. what, function()
    local vm

    after_each(function()
      if vm then vm:close() end
      vm = nil
    end)

    local function make(body, options)
      vm = calls.make("transform", "record", jit, body, options, vm)
      return vm
    end

    it("that returns its records keeps them", function()
      assert.same({ actions = { "keep", "keep" }, replaced = {}, extras = {}, rejects = {}, is_changed = false },
        make "return record":transform { "a", "b" })
    end)

    it("that returns nil drops the record", function()
      assert.same({ actions = { "keep", "drop", "drop" }, replaced = {}, extras = {}, rejects = {}, is_changed = true },
        make "if record.key == 'a' then return record end":transform { "a", "b", "c" })
    end)

    it("filters by a header", function()
      assert.same({ "keep", "drop", "drop", "keep" }, make "if record.headers.region == 'eu' then return record end"
        :transform({ { "a", headers = { { "region", "eu" } } }, { "b", headers = { { "region", "us" } } }, "c",
          { "d", headers = { { "region", "us" }, { "region", "eu" }, { "x", "y" } } } }).actions)
    end)

    it("sees the last header of a name, also when it is null", function()
      assert.same({ "keep", "drop" }, make "if record.headers.a == nil then return record end"
        :transform({ { headers = { { "a", "1" }, { "a" } } }, { headers = { { "a" }, { "a", "1" } } } }).actions)
    end)

    it("sets the value, and leaves the rest", function()
      local out = make "record.value = record.value:upper() return record"
        :transform { { "k", "v", headers = { { "h", "1" }, { "h" } }, timestamp = 5 } }
      assert.same({ "replace" }, out.actions)
      assert.is_true(out.is_changed)
      assert.same({ key = "k", value = "V", headers = { { "h", "1" }, { "h" } }, timestamp = 5LL, partition = -1, from = 0 },
        out.replaced[1])
    end)

    it("reads what it has set", function()
      local out = make [[
        record.key, record.value, record.timestamp = "k2", nil, 7
        record.headers.new = "1"
        if record.key == "k2" and record.value == nil and record.timestamp == 7 and record.headers.new == "1" then
          record.value = record.key .. #record.headers
        end
        return record
      ]]:transform { { "k", "v" } }
      assert.same({ key = "k2", value = "k21", headers = { { "new", "1" } }, timestamp = 7LL, partition = -1, from = 0 },
        out.replaced[1])
    end)

    it("sees who produces, and the sequence of each record, also once it was changed", function()
      make [[
        record.key = nil
        record.value = ("%s %s %s"):format(tostring(record.producer_id), tostring(record.producer_epoch), tostring(record.sequence))
        return record
      ]]
      local function seen(producer) return vm:transform({ "a", "b" }, { producer = producer }).replaced[2].value end
      assert.equal("77 3 5", seen { 77, 3, 4 })
      assert.equal("77 3 0", seen { 77, 3, 2 ^ 31 - 1 }) -- what comes after the last
      assert.equal("42 3 5", seen { 2LL ^ 62 + 42 * 2LL ^ 20 + 7, 3, 4 }) -- a share is its client's
      for _, producer in ipairs { false, { -1, -1, -1 }, { 77, 3, -1 } } do assert.equal("nil nil nil", seen(producer)) end
    end)

    it("cannot set who produces", function()
      for _, name in ipairs { "producer_id", "producer_epoch", "sequence" } do
        local _, told = make("record." .. name .. " = 1 return record"):transform { "a" }
        assert.equal(("transform of topic clicks: config.lua:2: %s of a record cannot be set; emit() writes records to other "
          .. "topics"):format(name), told)
      end
    end)

    it("changes the records it changes, and no others", function()
      local out = make "if record.key == 'b' then record.value = 'x' end return record":transform { "a", "b", "c" }
      assert.same({ "keep", "replace", "keep" }, out.actions)
      assert.equal("b", out.replaced[2].key)
    end)

    it("that changes a record and drops it drops it", function()
      assert.same({ "drop" }, make "record.value = 'x'":transform({ "a" }).actions)
    end)

    it("sets null and empty texts", function()
      local out = make "record.key, record.value = nil, '' return record":transform { { "k", "v" } }
      assert.is_nil(out.replaced[1].key)
      assert.equal("", out.replaced[1].value)
    end)

    it("takes timestamps as numbers and as int64", function()
      local out = make "record.timestamp = record.timestamp + (record.key == 'a' and 1 or 1LL) return record"
        :transform { { "a", timestamp = 5 }, { "b", timestamp = 9007199254740993LL } }
      assert.equal(6LL, out.replaced[1].timestamp)
      assert.equal(9007199254740994LL, out.replaced[2].timestamp)
    end)

    describe("with headers", function()
      local HEADERS = { { "a", "1" }, { "b", "2" }, { "a", "3" } }

      local function headers(body)
        local out = make(body .. " return record"):transform { { "k", headers = HEADERS } }
        return out.replaced[1] and out.replaced[1].headers
      end

      it("sets one in its place and takes others of its name away", function()
        assert.same({ { "a", "x" }, { "b", "2" } }, headers "record.headers.a = 'x'")
      end)

      it("adds a new one at the end", function()
        assert.same({ { "a", "1" }, { "b", "2" }, { "a", "3" }, { "c", "" } }, headers "record.headers.c = ''")
      end)

      it("takes one away", function()
        assert.same({ { "b", "2" } }, headers "record.headers.a = nil")
      end)

      it("leaves all when one is taken away that is not there", function()
        assert.is_nil(headers "record.headers.c = nil")
      end)

      it("has them by number", function()
        assert.is_nil(headers [[
          local h = record.headers
          assert(#h == 3 and h[1].key == "a" and h[1].value == "1" and h[3].value == "3" and h[4] == nil and h[0] == nil)
          assert(h[1.5] == nil)
        ]])
      end)

      it("sets them by number", function()
        assert.same({ { "x" }, { "b", "2" }, { "a", "3" }, { "a", "4" } },
          headers "local h = record.headers h[1] = { key = 'x' } h[#h + 1] = { key = 'a', value = '4' }")
      end)

      it("takes them away by number", function()
        assert.same({ { "a", "1" }, { "a", "3" } }, headers "record.headers[2] = nil")
      end)

      it("may change them while it goes through them", function()
        assert.same({ { "a", "A3" }, { "b", "B2" } },
          headers "for name, value in pairs(record.headers) do record.headers[name] = name:upper() .. value end")
      end)

      it("sets all, those with names in the order of names", function()
        assert.same({ { "z", "1" }, { "z" }, { "b", "2" }, { "c", "3" } },
          headers "record.headers = { { key = 'z', value = '1' }, { key = 'z' }, c = '3', b = '2' }")
      end)

      it("takes all away", function()
        assert.same({}, headers "record.headers = nil")
        assert.same({}, headers "record.headers = {}")
      end)

      it("may set them to themselves", function()
        assert.same(HEADERS, headers "record.headers = record.headers")
      end)

      for body, message in pairs {
        ["record.headers.a = 1"] = "the value of a header has to be a string or nil, not a number",
        ["record.headers[5] = { key = 'x' }"] = "there are 3 headers, so the next one is number 4",
        ["record.headers[0] = { key = 'x' }"] = "there are 3 headers, so the next one is number 4",
        ["record.headers[1] = { value = 'x' }"] = "a header has to have a key",
        ["record.headers[1] = 'x'"] = "a numbered header has to be a table { key =, value = } or nil",
        ["record.headers[{}] = 'x'"] = "headers are set by name or number, not by a table",
        ["local x = record.headers[true]"] = "headers are found by name or number, not by a boolean",
        ["record.headers = 5"] = "headers have to be a table or nil",
        ["record.headers = { 'x' }"] = "header number 1 has to be a table { key =, value = }",
        ["record.headers = { x = 5 }"] = "the value of header x has to be a string, not a number",
        ["record.headers = { [true] = 'x' }"] = "headers have names and numbers, and not a boolean",
        ["record.headers = record"] = "headers have to be a table or nil",
      } do
        it("is told about " .. body, function()
          make(body .. " return record")
          assert.equal("transform of topic clicks: config.lua:2: " .. message,
            (select(2, vm:transform { { "k", headers = HEADERS } })))
        end)
      end
    end)

    for body, message in pairs {
      ["record.key = 5"] = "key has to be a string or nil, not a number",
      ["record.value = {}"] = "value has to be a string or nil, not a table",
      ["record.value = 5LL"] = "value has to be a string or nil, not a cdata",
      ["record.timestamp = 'x'"] = "timestamp has to be a whole number of milliseconds, or -1 for none",
      ["record.timestamp = -2"] = "timestamp has to be a whole number of milliseconds, or -1 for none",
      ["record.timestamp = 1.5"] = "timestamp has to be a whole number of milliseconds, or -1 for none",
      ["record.timestamp = nil"] = "timestamp has to be a whole number of milliseconds, or -1 for none",
      ["record.topic = 'x'"] = "topic of a record cannot be set; emit() writes records to other topics",
      ["record.vale = 'x'"] = "a record has no field vale: it has key, value, headers, timestamp, topic, partition, offset, "
        .. "producer_id, producer_epoch and sequence",
      ["emit('x')"] = "a record or a table { key =, value = } is needed, not nil",
      ["emit(nil, record)"] = "emit() needs the name of a topic, and a record",
      ["emit('', record)"] = "emit() needs the name of a topic, and a record",
      ["emit('x', { ky = 'x' })"] = "a table that is a record has key, value, headers and timestamp, and not ky",
      ["emit('x', { key = 5 })"] = "key has to be a string or nil, not a number",
      ["emit('x', record, -2)"] = "the partition given to emit() is no number of one",
      ["emit('x', record, 'y')"] = "the partition given to emit() is no number of one",
      ["reject()"] = "reject() needs a text that says why",
    } do
      it("is told about " .. body, function()
        local _, told, index = make(body .. " return record"):transform { { "k", "v" } }
        assert.equal("transform of topic clicks: config.lua:2: " .. message, told)
        assert.equal(0, index)
      end)
    end

    for returned, shown in pairs {
      ["false"] = "returned false", ["true"] = "returned true", ["1"] = "returned a number", ["'x'"] = "returned a string",
      ["print"] = "returned a function",
    } do
      it("cannot return " .. returned, function()
        local _, told = make("return " .. returned):transform { { "k", "v" } }
        assert.equal("transform of topic clicks: config.lua:1: " .. shown
          .. "; nil drops the record, a record or a list of records takes its place", told)
      end)
    end

    it("returns a table in place of a record", function()
      local out = make "return { key = 'x', value = 'y', headers = { h = '1' }, timestamp = 9 }":transform { { "k", "v" } }
      assert.same({ key = "x", value = "y", headers = { { "h", "1" } }, timestamp = 9LL, partition = -1, from = 0 },
        out.replaced[1])
    end)

    it("returns a table without a timestamp, which has that of the record; nothing else is taken over", function()
      local out = make "return { value = 'y' }":transform { { "k", "v", headers = { { "h", "1" } }, timestamp = 9 } }
      assert.same({ value = "y", headers = {}, timestamp = 9LL, partition = -1, from = 0 }, out.replaced[1])
    end)

    it("returns a list: the first takes the place, the others come in addition", function()
      local out = make "return { { key = 'x' }, record, { key = 'z', headers = record.headers } }"
        :transform { "a", { "b", "v", headers = { { "h", "1" } } } }
      assert.same({ "replace", "replace" }, out.actions)
      assert.equal("x", out.replaced[2].key)
      local extras = {}
      for i, extra in ipairs(out.extras) do extras[i] = { extra.key, extra.topic or "-", extra.from, #extra.headers } end
      assert.same({ { "a", "-", 0, 0 }, { "z", "-", 0, 0 }, { "b", "-", 1, 1 }, { "z", "-", 1, 1 } }, extras)
    end)

    it("that returns an empty list drops the record", function()
      assert.same({ "drop" }, make "return {}":transform({ "a" }).actions)
    end)

    for returned, message in pairs {
      ["{ 'x' }"] = "a record or a table { key =, value = } is needed, not a string",
      ["{ kye = 'x' }"] = "a table that is a record has key, value, headers and timestamp, and not kye",
      ["{ {}, { value = 5 } }"] = "value has to be a string or nil, not a number",
      ["{ { timestamp = {} } }"] = "timestamp has to be a whole number of milliseconds, or -1 for none",
      ["{ { headers = 1 } }"] = "headers have to be a table or nil",
    } do
      it("cannot return " .. returned, function()
        assert.equal("transform of topic clicks: config.lua:1: " .. message,
          (select(2, make("return " .. returned):transform { { "k", "v" } })))
      end)
    end

    it("cannot return a record of an earlier call", function()
      vm = assert(calls.new(('local kept topic "clicks" { %stransform = function(record)\n'
        .. "kept = kept or record return kept end }"):format(jit)))
      local _, message, index = vm:transform { "a", "b" }
      assert.equal("transform of topic clicks: config.lua:1: returned the record of an earlier call", message)
      assert.equal(1, index)
    end)

    it("cannot give a record the headers of an earlier call", function()
      vm = assert(calls.new(('local kept topic "clicks" { %stransform = function(record)\n'
        .. "kept = kept or record.headers record.headers = kept return record end }"):format(jit)))
      local _, message, index = vm:transform { "a", "b" }
      assert.matches("^transform of topic clicks: config.lua:2: .* cannot be used after the call", message)
      assert.equal(1, index)
    end)

    it("emits to other topics, in order", function()
      local out = make [[
        emit("dead", record)
        emit("copy", { key = "x", value = "y" }, 4)
        record.value = "later"
        emit("dead", record)
      ]]:transform { { "k", "v" } }
      assert.same({ "drop" }, out.actions)
      local extras = {}
      for i, extra in ipairs(out.extras) do extras[i] = { extra.topic, extra.key, extra.value, extra.partition } end
      assert.same({ { "dead", "k", "v", -1 }, { "copy", "x", "y", 4 }, { "dead", "k", "later", -1 } }, extras)
    end)

    it("rejects records, by reason, and decides on the others", function()
      local out = make [[
        if record.key == "bad" then reject("no " .. record.key) end
        if record.key == "drop" then return nil end
        return record
      ]]:transform { "bad", "a", "bad", "drop", "b", "bad" }
      assert.same({ "reject", "keep", "reject", "drop", "keep", "reject" }, out.actions)
      assert.same({ { 1, "no bad" }, { 3, "no bad" }, { 6, "no bad" } }, out.rejects)
      assert.is_true(out.is_changed)
    end)

    it("rejects also when it catches the error", function()
      local out = make "pcall(reject, 'first') pcall(reject, 'second') return record":transform { "a", "b" }
      assert.same({ "reject", "reject" }, out.actions)
      assert.same({ { 1, "first" }, { 2, "first" } }, out.rejects)
    end)

    it("makes no more bytes than the limit", function()
      local body = "for i = 1, 1e9 do emit('x', { value = ('x'):rep(100) }) end"
      local _, message = make(body):transform({ "a" }, { limit = 100000 })
      assert.equal("transform of topic clicks: config.lua:2: more than 100000 bytes of records were made of one batch", message)
      _, message = make "for i = 1, 1e9 do record.value = ('x'):rep(100) end":transform({ "a" }, { limit = 100000 })
      assert.equal("transform of topic clicks: config.lua:2: more than 100000 bytes of records were made of one batch", message)
      _, message = make "for i = 1, 1e9 do record.headers[i] = { key = 'x' } end":transform({ "a" }, { limit = 100000 })
      assert.equal("transform of topic clicks: config.lua:2: more than 100000 bytes of records were made of one batch", message)
    end)

    it("goes through many batches", function()
      make [[
        local n = tonumber(record.key)
        if n % 3 == 0 then return nil end
        if n % 3 == 1 then record.value = "v" .. n end
        if n % 50 == 0 then reject(record.key) end
        return record
      ]]
      for size = 1, 200, 13 do
        local keys = {}
        for i = 1, size do keys[i] = tostring(i) end
        local out = vm:transform(keys)
        for i = 1, size do
          local expected = i % 3 == 0 and "drop" or i % 50 == 0 and "reject" or i % 3 == 1 and "replace" or "keep"
          assert.equal(expected, out.actions[i])
          if expected == "replace" then assert.equal("v" .. i, out.replaced[i].value) end
        end
      end
    end)
  end)

  describe("a transform_fetch" .. what, function()
    it("sees who fetches, offsets, and may change and reject records, but not emit", function()
      local vm = assert(calls.new(('topic "clicks" { %stransform_fetch = function(record, client)\n'
        .. 'if record.key == "emit" then emit("x", record) elseif record.key == "reject" then reject "x" end\n'
        .. 'record.value = ("%%s %%s %%s %%d"):format(client.id, client.principal, client.address, record.offset)\n'
        .. "return record end }"):format(jit)))
      local options = { client = { id = "me", principal = "User:alice", address = "10.0.0.1" } }
      local out = vm:transform({ "a", "b" }, options)
      assert.equal("me User:alice 10.0.0.1 1000", out.replaced[1].value)
      assert.equal("me User:alice 10.0.0.1 1001", out.replaced[2].value)
      assert.equal("transform_fetch of topic clicks: config.lua:2: emit() is for transforms of what is produced",
        (select(2, vm:transform({ "emit" }, options))))
      out = vm:transform({ "a", "reject" }, options)
      assert.same({ "replace", "reject" }, out.actions)
      assert.same({ { 2, "x" } }, out.rejects)
      vm:close()
    end)
  end)

  describe("where of a view" .. what, function()
    it("keeps records for which it returns something true", function()
      local vm = assert(calls.new(('topic "a" { partitions = 1 } view("eu", { from = "a", %swhere = function(record)\n'
        .. 'if record.key == "error" then error "x" end return record.key ~= "no" and record.offset end })'):format(jit)))
      assert.same({ "keep", "drop", "keep" }, vm:transform({ "a", "no", "b" }).actions)
      assert.equal("where of view eu: config.lua:2: x", (select(2, vm:transform { "error" })))
      assert.equal("where of view eu: config.lua:2: records can only be changed by a transform",
        (select(2, (function()
          vm:close()
          vm = assert(calls.new(('topic "a" { partitions = 1 } view("eu", { from = "a", %swhere = function(record)\n'
            .. 'record.key = "x" end })'):format(jit)))
          return vm:transform { "a" }
        end)())))
      vm:close()
    end)
  end)
end
