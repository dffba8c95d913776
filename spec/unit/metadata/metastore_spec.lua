-- SPDX-License-Identifier: Apache-2.0
local bit = require "bit"
local ffi = require "ffi"
local unit = require "spec.support.unit"
local C = unit.load("metadata/metastore_local.h", "metadata/metastore.h", "base/crc.h", "base/error.h", "os/errinj.h")

describe("local metastore", function()
  local path, store, kept
  local GET, CHILDREN, CREATE, SET, DELETE, CHECK =
    C.METASTORE_GET, C.METASTORE_CHILDREN, C.METASTORE_CREATE, C.METASTORE_SET, C.METASTORE_DELETE, C.METASTORE_CHECK

  local function open(may_create)
    local out = ffi.new "struct metastore *[1]"
    local result = C.metastore_local_open(path, may_create ~= false, nil, nil, out)
    if result < 0 then return nil, result, ffi.string(C.error_last().message) end
    store = out[0]
    return store
  end

  local function close()
    C.metastore_close(store)
    store = nil
  end

  before_each(function()
    path, kept = unit.temp_dir() .. "/luka.mdb", {}
    assert(open())
  end)
  after_each(function()
    if store then close() end
    C.errinj_set(C.ERRINJ_FILE_SYNC, 0, 0)
  end)

  --- Runs steps { kind, path, data, version, flags }; returns the result and what each step said.
  local function run(steps)
    local ops, request = ffi.new("struct metastore_op[?]", #steps), ffi.new "struct metastore_request"
    for i, step in ipairs(steps) do
      local op = ops[i - 1]
      kept[#kept + 1] = step
      op.kind, op.path, op.version, op.flags = step[1], step[2], step[4] or -1, step[5] or 0
      if step[3] then op.data, op.size = step[3], #step[3] end
      op.watch = step.watch
    end
    request.ops, request.op_count = ops, #steps
    local result = C.metastore_call(store, request)
    local answers = { result = result, failed_op = tonumber(request.failed_op),
      message = request.message ~= nil and ffi.string(request.message) or nil }
    for i = 1, #steps do
      local op = ops[i - 1]
      local answer = { result = op.result, version = op.stat.version, owner = tonumber(op.stat.owner),
        created = tonumber(op.stat.create_zxid), changed = tonumber(op.stat.change_zxid), path = ffi.string(op.path), names = {} }
      if steps[i][1] == GET and op.result == 0 and op.data ~= nil then answer.data = ffi.string(op.data, op.size) end
      for n = 0, tonumber(op.name_count) - 1 do answer.names[n + 1] = ffi.string(op.names[n]) end
      answers[i] = answer
    end
    C.metastore_request_clear(request)
    return answers
  end

  -- Compiled code may not call what calls back: watches.
  jit.off(run)

  local function get(at) return run({ { GET, at } })[1] end
  local function children(at) return run({ { CHILDREN, at } })[1].names end
  local function create(at, data, flags) return run { { CREATE, at, data, nil, flags } } end

  it("starts with the nodes that Kafka's tools expect", function()
    assert.same({ "admin", "brokers", "config", "consumers", "isr_change_notification", "latest_producer_id_block",
      "log_dir_event_notification", "luka" }, children "/")
    assert.same({ "ids", "seqid", "topics" }, children "/brokers")
    assert.same({ "brokers", "changes", "client-metrics", "clients", "groups", "ips", "topics", "users" }, children "/config")
    assert.same({ "delete_topics" }, children "/admin")
    assert.is_nil(get("/brokers/ids").data)
  end)

  it("creates, reads, sets and deletes a node, counting its versions", function()
    assert.equal(0, create("/a", "one").result)
    local node = get "/a"
    assert.equal("one", node.data)
    assert.equal(0, node.version)
    assert.equal(0, node.owner)
    assert.equal(0, run({ { SET, "/a", "two" } }).result)
    local set = get "/a"
    assert.equal("two", set.data)
    assert.equal(1, set.version)
    assert.equal(node.created, set.created)
    assert.is_true(set.changed > node.changed)
    assert.equal(0, run({ { DELETE, "/a", nil, 1 } }).result)
    assert.equal(C.ERR_NOT_FOUND, get("/a").result)
  end)

  it("keeps no data apart from empty data", function()
    create("/none")
    create("/empty", "")
    assert.is_nil(get("/none").data)
    assert.equal("", get("/empty").data)
    create("/bytes", "a\0b")
    assert.equal("a\0b", get("/bytes").data)
  end)

  it("lists children alone, sorted", function()
    create "/p"
    for _, name in ipairs { "b", "a", "c-d", "c" } do create("/p/" .. name) end
    create "/p/a/deep"
    create "/pq"
    assert.same({ "a", "b", "c", "c-d" }, children "/p")
    assert.same({ "deep" }, children "/p/a")
    assert.same({}, children "/pq")
    assert.equal(C.ERR_NOT_FOUND, run({ { CHILDREN, "/none" } })[1].result)
  end)

  it("refuses what does not fit the tree", function()
    create("/a", "1")
    create "/a/b"
    assert.equal(C.ERR_EXISTS, create("/a").result)
    assert.equal(C.ERR_EXISTS, create("/").result)
    assert.equal(C.ERR_NOT_FOUND, create("/none/x").result)
    assert.equal(C.ERR_NOT_FOUND, run({ { SET, "/none", "x" } }).result)
    assert.equal(C.ERR_NOT_FOUND, run({ { DELETE, "/none" } }).result)
    assert.equal(C.ERR_NOT_EMPTY, run({ { DELETE, "/a" } }).result)
    assert.equal(C.ERR_BAD_VERSION, run({ { SET, "/a", "x", 7 } }).result)
    assert.equal(C.ERR_BAD_VERSION, run({ { DELETE, "/a/b", nil, 1 } }).result)
    assert.equal(C.ERR_BAD_VERSION, run({ { CHECK, "/a", nil, 1 } }).result)
    assert.equal(C.ERR_INVALID, run({ { DELETE, "/" } }).result)
    assert.equal(C.ERR_LIMIT, create("/big", ("x"):rep(1048577)).result)
    assert.equal(C.ERR_INVALID, run({ { GET, "/a" }, { SET, "/a", "x" } }).result)
    assert.equal("1", get("/a").data)
  end)

  it("knows a path from other texts", function()
    for _, good in ipairs { "/", "/a", "/a/b", "/a b/\195\169", "/" .. ("x"):rep(479) } do
      assert.is_true(C.metastore_path_is_valid(good), good)
    end
    for _, bad in ipairs { "", "a", "//", "/a/", "/a//b", "/.", "/a/..", "/a\nb", "/" .. ("x"):rep(480) } do
      assert.is_false(C.metastore_path_is_valid(bad), bad)
    end
    assert.equal(C.ERR_INVALID, create("/a/").result)
  end)

  it("does all steps of a write or none", function()
    create("/a", "1")
    local answers = run { { CREATE, "/x" }, { SET, "/a", "2" }, { CHECK, "/a", nil, 5 }, { CREATE, "/y" } }
    assert.equal(C.ERR_BAD_VERSION, answers.result)
    assert.equal(2, answers.failed_op)
    assert.equal(C.ERR_AGAIN, answers[1].result)
    assert.equal(C.ERR_AGAIN, answers[2].result)
    assert.equal(C.ERR_BAD_VERSION, answers[3].result)
    assert.equal(C.ERR_AGAIN, answers[4].result)
    assert.equal("1", get("/a").data)
    assert.equal(C.ERR_NOT_FOUND, get("/x").result)
    answers = run { { CREATE, "/x" }, { CREATE, "/x/y" }, { SET, "/a", "2", 0 }, { CHECK, "/a", nil, 1 } }
    assert.equal(0, answers.result)
    assert.equal("2", get("/a").data)
    assert.equal(0, get("/x/y").result)
    assert.equal(get("/x").created, get("/a").changed)
  end)

  it("numbers sequential nodes, also of one write", function()
    create "/s"
    assert.equal("/s/n_0000000000", create("/s/n_", nil, C.METASTORE_SEQUENTIAL)[1].path)
    local answers = run { { CREATE, "/s/n_", nil, nil, C.METASTORE_SEQUENTIAL }, { CREATE, "/s/n_", nil, nil, C.METASTORE_SEQUENTIAL } }
    assert.equal("/s/n_0000000001", answers[1].path)
    assert.equal("/s/n_0000000002", answers[2].path)
    run { { DELETE, "/s/n_0000000002" } }
    assert.equal("/s/n_0000000003", create("/s/n_", nil, C.METASTORE_SEQUENTIAL)[1].path)
    assert.equal(0, get("/s").version)
  end)

  it("keeps persistent nodes and forgets ephemeral ones when it is opened again", function()
    create("/keep", "k")
    assert.equal(0, create("/brokers/ids/1", "e", C.METASTORE_EPHEMERAL).result)
    create("/brokers/ids/2", "e", C.METASTORE_EPHEMERAL)
    run { { DELETE, "/brokers/ids/2" } }
    assert.is_true(get("/brokers/ids/1").owner ~= 0)
    assert.equal(C.ERR_INVALID, create("/brokers/ids/1/child").result)
    local first = get("/brokers/ids/1").created
    close()
    assert(open(false))
    assert.equal("k", get("/keep").data)
    assert.same({}, children "/brokers/ids")
    create("/brokers/ids/1", "e", C.METASTORE_EPHEMERAL)
    assert.is_true(get("/brokers/ids/1").created > first)
  end)

  it("is one file, locked against another process", function()
    local names = {}
    for name in io.popen("ls " .. path:match "^(.*)/"):lines() do names[#names + 1] = name end
    assert.same({ "luka.mdb" }, names)
    local mine = store
    local other, code, message = open()
    assert.is_nil(other)
    assert.equal(C.ERR_BUSY, code)
    assert.equal("metastore " .. path .. " is in use by another process", message)
    store = mine
    close()
    assert.is_truthy(open())
  end)

  --- Replaces the seal by one of another format, or by another text.
  local function set_seal(format, crc)
    local bytes = unit.read_file(path)
    local changed = bytes:gsub("seal(............)....", function(rest)
      local value = "\0\0\0" .. string.char(format) .. rest:sub(5)
      local sum = crc or C.crc32c("seal" .. value, 16)
      return "seal" .. value .. string.char(bit.rshift(sum, 24), bit.band(bit.rshift(sum, 16), 255),
        bit.band(bit.rshift(sum, 8), 255), bit.band(sum, 255))
    end)
    assert.are_not.equal(bytes, changed)
    unit.write_file(path, changed)
  end

  it("refuses a newer format with one line", function()
    close()
    set_seal(2)
    local other, code, message = open()
    assert.is_nil(other)
    assert.equal(C.ERR_UNSUPPORTED_VERSION, code)
    assert.equal("metastore " .. path .. " has format 2, this program knows 1: use a newer one", message)
  end)

  it("refuses a format it cannot read", function()
    close()
    set_seal(1, 0)
    local other, code = open()
    assert.is_nil(other)
    assert.equal(C.ERR_CORRUPT, code)
  end)

  it("refuses a file of another kind, a folder and a missing folder", function()
    close()
    unit.write_file(path, ("not a metastore\n"):rep(1000))
    local other, code, message = open()
    assert.is_nil(other)
    assert.equal(C.ERR_CORRUPT, code)
    assert.is_truthy(message:find(path, 1, true))
    path = path:match "^(.*)/"
    assert.is_nil((open()))
    path = path .. "/none/luka.mdb"
    local _, missing = open()
    assert.equal(C.ERR_NOT_FOUND, missing)
  end)

  it("grows with what is put into it", function()
    local data = ("0123456789abcdef"):rep(65536)
    create "/big"
    for i = 1, 40 do assert.equal(0, create("/big/n" .. i, data).result, i) end
    assert.equal(40, #children "/big")
    assert.equal(data, get("/big/n33").data)
    close()
    assert(open())
    assert.equal(data, get("/big/n40").data)
  end)

  it("survives many nodes in one write", function()
    local steps = { { CREATE, "/many" } }
    for i = 1, 5000 do steps[#steps + 1] = { CREATE, ("/many/n%05d"):format(i), "x" } end
    assert.equal(0, run(steps).result)
    assert.equal(5000, #children "/many")
    assert.equal("n05000", children("/many")[5000])
  end)

  it("undoes a write that cannot reach the disk, and says why", function()
    C.errinj_set(C.ERRINJ_FILE_SYNC, 1, 28)
    local answers = create "/a"
    assert.equal(C.ERR_NO_SPACE, answers.result)
    assert.is_truthy(answers.message:find("commit", 1, true))
    C.errinj_set(C.ERRINJ_FILE_SYNC, 0, 0)
    assert.equal(C.ERR_NOT_FOUND, get("/a").result)
    assert.equal(0, create("/a").result)
  end)

  describe("watch", function()
    local function watch(fired, name)
      local w = ffi.new "struct metastore_watch"
      w.fired = function() fired[#fired + 1] = name end
      kept[#kept + 1] = w
      return w
    end

    it("fires once for each reading, when the node has changed, come or gone", function()
      local fired = {}
      local data, absent, names = watch(fired, "data"), watch(fired, "absent"), watch(fired, "names")
      create("/a", "1")
      run { { GET, "/a", watch = data }, { GET, "/a/b", watch = absent }, { CHILDREN, "/a", watch = names } }
      assert.same({}, fired)
      run { { SET, "/a", "2" } }
      assert.same({ "data" }, fired)
      run { { SET, "/a", "3" } }
      assert.same({ "data" }, fired)
      create "/a/b"
      assert.same({ "data", "absent", "names" }, fired)
      run { { CHILDREN, "/a", watch = names }, { GET, "/a/b", watch = data } }
      run { { DELETE, "/a/b" } }
      assert.same({ "data", "absent", "names", "data", "names" }, fired)
    end)

    it("does not fire for a write that failed or when it was cancelled", function()
      local fired = {}
      local data = watch(fired, "data")
      create("/a", "1")
      run { { GET, "/a", watch = data } }
      run { { SET, "/a", "2", 9 } }
      C.metastore_watch_cancel(data)
      C.metastore_watch_cancel(data)
      run { { SET, "/a", "2" } }
      assert.same({}, fired)
    end)
  end)
end)
