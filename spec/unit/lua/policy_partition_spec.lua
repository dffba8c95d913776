-- SPDX-License-Identifier: Apache-2.0
-- Partitioners that are Lua functions, in both states: what they see, what they may return, and what a failure says.
local calls = require "spec.unit.lua.policy_calls"

local PLACE = "partitioner of topic clicks: config.lua:1: "

for _, jit in ipairs { "", "jit = true, " } do
  describe("a partitioner" .. (jit == "" and "" or " that is compiled"), function()
    local vm

    after_each(function()
      if vm then vm:close() end
      vm = nil
    end)

    local function make(body, options)
      vm = calls.make("partitioner", "record, n", jit, body, options, vm)
      return vm
    end

    it("chooses by the hash of the key, as the Java client does", function()
      local keys = { "21", "foobar", "a-little-bit-long-string", "a-little-bit-longer-string", "abc" }
      local hashes = { 1173551340, 1357151166, 1161502112, 661178819, 479470107 }
      local expected = {}
      for i, hash in ipairs(hashes) do expected[i] = hash % 97 end
      assert.same(expected, make "return hash(record.key) % n":partition(keys, 97))
    end)

    it("has records without a key where the empty key goes", function()
      assert.same({ 275646681 % 7, 275646681 % 7 }, make "return hash(record.key) % n":partition({ "", false }, 7))
    end)

    it("sees the key of each record, however many, large, empty or null they are", function()
      make [[
        local key = record.key
        if key == nil then return 0 end
        local own = (key .. "x"):sub(1, -2)
        if hash(key) ~= hash(own) or crc32(key) ~= crc32(own) or hash(record.value) == hash(key) then error(key, 0) end
        return 1 + #key % 1000 + (#key > 0 and key:byte(-1) or 0)
      ]]
      local keys, expected = {}, {}
      for i = 1, 3000 do
        local size = i % 700 == 0 and 70000 or i % 11 == 0 and 300 or i % 13
        keys[i] = i % 17 ~= 0 and ((("%d "):format(i)):rep(size):sub(1, size))
        expected[i] = keys[i] and 1 + size % 1000 + (size > 0 and keys[i]:byte(-1) or 0) or 0
      end
      local records = {}
      for i, key in ipairs(keys) do records[i] = { key or nil, "value " .. i } end
      for _ = 1, 3 do assert.same(expected, vm:partition(records, 2000)) end
    end)

    it("sees records beside types of its own, with unsafe = true", function()
      vm = calls.new(([[broker { unsafe = true }
        local ffi = require "ffi"
        ffi.cdef "struct spec_point { int x, y; };"
        topic "clicks" { %s partitioner = function(record, n)
          local point = ffi.new("struct spec_point", { x = #record.key, y = hash(record.value) %% 2 })
          return (point.x + point.y + #record.headers) %% n
        end }]]):format(jit))
      local records, expected = {}, {}
      for i = 1, 300 do
        records[i], expected[i] = { ("k"):rep(i % 40), "foobar", headers = { { "a", "1" } } }, (i % 40 + 1) % 97
      end
      assert.same(expected, vm:partition(records, 97))
    end)

    it("sees the keys of very many records, though they are empty", function()
      make "return #record.key"
      local records, expected = {}, {}
      for i = 1, 40000 do
        local key = i % 9999 == 0 and "key" or ""
        records[i], expected[i] = key, #key
      end
      assert.same(expected, vm:partition(records, 4))
    end)

    it("has the hash of other texts as long as the key", function()
      make "return (hash(record.value) == hash(record.key) and 1 or 0) + (crc32(record.value) == crc32(record.key) and 2 or 0)"
      local records, expected = {}, {}
      for i = 1, 300 do
        records[i] = { ("key%04d"):format(i), ("%s%04d"):format(i % 3 == 0 and "key" or "val", i) }
        expected[i] = i % 3 == 0 and 3 or 0
      end
      assert.same(expected, vm:partition(records, 4))
    end)

    it("has the CRC-32 of a text", function()
      assert.same({ 0xcbf43926 % 10 }, make "return crc32(record.key) % n":partition({ "123456789" }, 10))
    end)

    it("sees all that a record has", function()
      make [[
        local h = record.headers
        local text = ("%s %s %s %s %s %s %s"):format(record.key, record.value, h.region, record.timestamp, record.topic,
          record.partition, record.offset)
        if text == "k v eu 1700000000001 clicks 3 nil" then return 1 end
        error(text)
      ]]
      assert.same({ 1 }, vm:partition({ { "k", "v", headers = { { "region", "eu" } } } }, 2))
    end)

    it("sees who produces, and the sequence of each record", function()
      make [[
        if record.key == "a" then return 0 end
        error(("%s %s %s"):format(tostring(record.producer_id), tostring(record.producer_epoch), tostring(record.sequence)))
      ]]
      local function seen(producer) return (select(2, vm:partition({ "a", "b" }, 2, { producer = producer })):match ": ([^:]*)$") end
      assert.equal("77 3 5", seen { 77, 3, 4 })
      assert.equal("77 3 0", seen { 77, 3, 2 ^ 31 - 1 }) -- what comes after the last
      assert.equal("42 3 5", seen { 2LL ^ 62 + 42 * 2LL ^ 20 + 7, 3, 4 }) -- a share is its client's
      for _, producer in ipairs { false, { -1, -1, -1 }, { 77, 3, -1 } } do assert.equal("nil nil nil", seen(producer)) end
    end)

    it("sees nil for a null key, a null value and the value of a null header", function()
      make "return record.key == nil and record.value == nil and record.headers.x == nil and #record.headers == 1 and 1 or 0"
      assert.same({ 1 }, vm:partition({ { nil, nil, headers = { { "x" } } } }, 2))
    end)

    it("keeps bytes as they are", function()
      assert.same({ 4 }, make "return #record.key + record.key:byte(2)":partition({ "a\0b\255" }, 9))
    end)

    it("sees timestamps beyond 2^53 exactly", function()
      make "return record.timestamp == 9007199254740993LL and type(record.timestamp) == 'cdata' and 1 or 0"
      assert.same({ 1, 0 }, vm:partition({ { "k", timestamp = 9007199254740993LL }, { "k", timestamp = 2 ^ 53 } }, 2))
    end)

    it("may return an int64", function()
      assert.same({ 5 }, make "return record.timestamp % n":partition({ { "k", timestamp = 2 ^ 53 * 4LL + 5 } }, 8))
    end)

    it("may have all partitions", function()
      assert.same({ 0, 1, 2 }, make "return tonumber(record.key)":partition({ "0", "1", "2" }, 3))
    end)

    it("keeps its local variables from batch to batch", function()
      vm = assert(calls.new(('local count = 0 topic "clicks" { %spartitioner = function() count = count + 1 return count %% 4 end }')
        :format(jit)))
      assert.same({ 1, 2, 3 }, vm:partition({ "a", "b", "c" }, 4))
      assert.same({ 0, 1 }, vm:partition({ "a", "b" }, 4))
    end)

    it("goes through many batches of all sizes", function()
      make "return hash(record.key) % n"
      for size = 0, 300, 7 do
        local keys = {}
        for i = 1, size do keys[i] = ("key %d of %d"):format(i, size) end
        local first = vm:partition(keys, 5)
        assert.equal(size, #first)
        assert.same(first, vm:partition(keys, 5))
      end
    end)

    it("is no business of batches without records", function()
      assert.same({}, make "error 'called'":partition({}, 4))
    end)

    for returned, shown in pairs {
      ["-1"] = "%-1", ["n"] = "6", ["1.5"] = "1.5", ["0/0"] = "%-?nan", ['"2"'] = 'the string "2"', ["nil"] = "nil",
      ["2^31"] = "2147483648", ["{}"] = "a table", ["true"] = "true", ["1/0"] = "inf", ["-2^63"] = "%-9.2233720368548e%+18",
      ["6LL"] = "6", ["-1LL"] = "%-1", ["18446744073709551615ULL"] = "a cdata", ["print"] = "a function",
    } do
      it("cannot return " .. returned, function()
        local list, message, index = make("if record.key == 'b' then return " .. returned .. " end return 0")
          :partition({ "a", "b", "c" }, 6)
        assert.is_nil(list)
        assert.matches("^" .. PLACE:gsub("%p", "%%%0") .. "returned " .. shown
          .. "; a partition is a whole number from 0 to 5$", message)
        assert.equal(1, index)
      end)
    end

    it("cannot return nothing", function()
      assert.equal(PLACE .. "returned nil; a partition is a whole number from 0 to 5",
        (select(2, make "":partition({ "a" }, 6))))
    end)

    for text, message in pairs {
      ['error "boom"'] = "config.lua:2: boom",
      ["local x = record.value.field"] = "config.lua:2: attempt to index field 'value' (a nil value)",
      ["error(nil)"] = "config.lua:1: the error raised is nil",
      ["error()"] = "config.lua:1: the error raised is nil",
      ["error({})"] = "config.lua:1: the error raised is a table, not a text",
      ["error(42)"] = "config.lua:2: 42",
      ["error(42, 0)"] = "config.lua:1: 42",
      ["error(true)"] = "config.lua:1: the error raised is a boolean, not a text",
      ["error(print)"] = "config.lua:1: the error raised is a function, not a text",
      ["error(coroutine.create(print))"] = "config.lua:1: the error raised is a thread, not a text",
      ["error(setmetatable({}, { __tostring = function() return 'mine' end }))"] = "config.lua:1: mine",
      ["error(setmetatable({}, { __tostring = function() error 'again' end }))"] =
        "config.lua:1: the error raised is a table, not a text",
      ["error(setmetatable({}, { __tostring = function() return {} end }))"] =
        "config.lua:1: the error raised is a table, not a text",
      ["error('one\\ntwo\\0three', 0)"] = "config.lua:1: one two",
      ["error('caf\\195\\169 \\195 \\255', 0)"] = "config.lua:1: caf\195\169 ? ?",
      ["local h = hash({})"] = "config.lua:2: a hash is made of a string, or of nil as of an empty one, not of a table",
      ["return hash({})"] = "config.lua:1: a hash is made of a string, or of nil as of an empty one, not of a table",
      ["record.key = 'x'"] = "config.lua:2: records can only be changed by a transform",
      ["record.headers.x = 'x'"] = "config.lua:2: records can only be changed by a transform",
      ["return record.kye"] = "config.lua:2: a record has no field kye: it has key, value, headers, timestamp, topic, "
        .. "partition, offset, producer_id, producer_epoch and sequence",
      ["return record[1]"] = "config.lua:2: a record has no field number: it has key, value, headers, timestamp, topic, "
        .. "partition, offset, producer_id, producer_epoch and sequence",
      ["emit('x', record)"] = "config.lua:2: emit() is for transforms of what is produced",
      ["reject 'x'"] = "config.lua:2: reject() is for transform and transform_fetch",
      ["coroutine.yield()"] = "config.lua:2: attempt to yield across C-call boundary",
      ["return nosuch"] = "config.lua:2: unknown word nosuch",
    } do
      it("that does " .. text:gsub("%c", " ") .. " is told so", function()
        local _, told, index = make(text):partition({ "a" }, 6)
        assert.equal("partitioner of topic clicks: " .. message, told)
        assert.equal(0, index)
      end)
    end

    it("fails with a message of at most 511 bytes, cut between characters", function()
      local _, message = make "error(('\\195\\169'):rep(2000), 0)":partition({ "a" }, 6)
      assert.is_true(#message < 512)
      assert.matches("\195\169$", message)
    end)

    it("works after it has failed", function()
      make "if record.key == 'bad' then error 'boom' end return hash(record.key) % n"
      local before = vm:partition({ "a", "b", "c" }, 6)
      for _ = 1, 100 do assert.is_nil(vm:partition({ "a", "bad", "c" }, 6)) end
      assert.same(before, vm:partition({ "a", "b", "c" }, 6))
    end)

    it("is told when it uses a record that it kept", function()
      vm = assert(calls.new(('local kept topic "clicks" { %spartitioner = function(record)\n'
        .. 'local k = kept kept = record return k and #k.key or 0 end }'):format(jit)))
      local _, message, index = vm:partition({ "a", "b" }, 6)
      assert.equal("partitioner of topic clicks: config.lua:2: a record cannot be used after the call that it was given to; "
        .. "keep its key or value instead", message)
      assert.equal(1, index)
      _, message, index = vm:partition({ "a", "b" }, 6)
      assert.matches("a record cannot be used", message)
      assert.equal(0, index)
    end)

    it("is told when it uses headers that it kept", function()
      vm = assert(calls.new(('local kept topic "clicks" { %spartitioner = function(record)\n'
        .. 'local k = kept kept = record.headers return k and k.x and 1 or 0 end }'):format(jit)))
      local _, message = vm:partition({ "a", "b" }, 6)
      assert.matches("^partitioner of topic clicks: config.lua:2: a record cannot be used after the call", message)
    end)

    it("by a name says so, with the topic", function()
      vm = assert(calls.new(('policy.partitioner("by_region", function() error "x" end%s)'):format(
        jit == "" and "" or ", { jit = true }")))
      assert.equal("partitioner by_region of topic orders: config.lua:1: x",
        (select(2, vm:partition({ "a" }, 6, { topic = "orders" }))))
    end)

    it("from a file of its own says where that is", function()
      vm = assert(calls.new(('topic "clicks" { %spartitioner = require "by_key" }'):format(jit),
        { files = { ["by_key.lua"] = "return function(record)\n\n  error 'third'\nend" } }))
      assert.equal("partitioner of topic clicks: by_key.lua:3: third", (select(2, vm:partition({ "a" }, 6))))
    end)

    it("may use coroutines within a call", function()
      make "return coroutine.wrap(function() coroutine.yield(record.key == 'a' and 3 or 4) end)()"
      assert.same({ 3, 4 }, vm:partition({ "a", "b" }, 6))
    end)

    it("may go through headers in order", function()
      make [[
        local names = {}
        for name, value in pairs(record.headers) do names[#names + 1] = name .. "=" .. tostring(value) end
        for i, header in ipairs(record.headers) do names[#names + 1] = i .. header.key end
        if table.concat(names, " ") == "b=1 a=2 b=nil 1b 2a 3b" and record.headers.b == nil then return 1 end
        error(table.concat(names, " "))
      ]]
      assert.same({ 1 }, vm:partition({ { "k", headers = { { "b", "1" }, { "a", "2" }, { "b" } } } }, 2))
    end)
  end)
end
