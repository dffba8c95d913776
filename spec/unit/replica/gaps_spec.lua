-- SPDX-License-Identifier: Apache-2.0
-- What is remembered of batches that were refused, while their producers have others under way.
local ffi = require "ffi"
local unit = require "spec.support.unit"

local C = unit.load "replica/gaps.h"

describe("gaps", function()
  local table_of
  before_each(function() table_of = ffi.new("struct gaps *[1]") end)
  after_each(function() C.gaps_delete(table_of[0]) end)

  local function note(producer, epoch, sequence, now) C.gaps_note(table_of, producer, epoch, sequence, now or 0) end
  local function refuses(producer, epoch, sequence, now) return C.gaps_refuse(table_of[0], producer, epoch, sequence, now or 0) end
  --- `behind`: the sequence behind the batch; none for a share.
  local function close(producer, epoch, sequence, behind) C.gaps_close(table_of[0], producer, epoch, sequence, behind or -1) end

  it("are none at first", function()
    assert.is_false(refuses(7, 0, 0))
    close(7, 0, 0)
  end)

  it("keep back what is beyond, of that producer and epoch alone", function()
    note(7, 1, 10)
    assert.same({ true, false, false }, { refuses(7, 1, 11), refuses(7, 1, 10), refuses(7, 1, 9) })
    assert.same({ false, false, false }, { refuses(8, 1, 11), refuses(7, 2, 0), refuses(7, 0, 11) })
  end)

  local SHARE = 2LL ^ 62 + 7

  it("of shares are closed by the sequence that is missing, a lower one, or a newer epoch", function()
    for _, by in ipairs { { 1, 10 }, { 1, 3 }, { 2, 5 } } do
      note(SHARE, 1, 10)
      assert.same({ true, false }, { refuses(SHARE, 1, 11), refuses(SHARE, 2, 5) })
      close(SHARE, by[1], by[2])
      assert.is_false(refuses(SHARE, 1, 11))
    end
  end)

  it("are not closed by what is beyond, nor by an older epoch", function()
    note(7, 1, 10)
    close(7, 1, 11)
    close(7, 0, 10)
    assert.is_true(refuses(7, 1, 11))
  end)

  it("are not closed by what was written before them", function()
    note(7, 1, 10)
    close(7, 1, 3, 10)
    assert.is_true(refuses(7, 1, 11))
  end)

  it("move on with the batches that come for them", function()
    note(7, 1, 10)
    assert.same({ true, true }, { refuses(7, 1, 20), refuses(7, 1, 30) })
    close(7, 1, 10, 20)
    assert.same({ true, false }, { refuses(7, 1, 25), refuses(7, 1, 20) })
    note(7, 1, 40) -- for another reason
    close(7, 1, 20, 30)
    assert.same({ true, false }, { refuses(7, 1, 40), refuses(7, 1, 30) })
    note(7, 1, 20) -- again, as not all of it was written
    assert.same({ true, false }, { refuses(7, 1, 30), refuses(7, 1, 20) })
  end)

  it("have a newer epoch begin with sequence 0", function()
    note(7, 1, 10)
    assert.same({ true, false }, { refuses(7, 2, 20), refuses(7, 2, 0) })
    close(7, 2, 0, 20)
    assert.same({ false, true }, { refuses(7, 2, 20), refuses(7, 2, 30) })
    close(7, 3, 0, 10)
    assert.same({ false, true }, { refuses(7, 3, 10), refuses(7, 3, 20) })
    note(7, 4, 50)
    assert.same({ false, true }, { refuses(7, 4, 0), refuses(7, 4, 40) })
  end)

  it("are passed by what comes to a log that judges sequences itself", function()
    local function pass(producer, sequence, epoch) C.gaps_pass(table_of[0], producer, epoch or 1, sequence) end
    pass(7, 0)
    note(7, 1, 10)
    pass(7, 9)
    pass(8, 10)
    pass(7, 20, 0)
    assert.is_true(refuses(7, 1, 11))
    for _, by in ipairs { { 10, 1 }, { 50, 1 }, { 0, 2 } } do
      note(7, 1, 10)
      pass(7, by[1], by[2])
      assert.is_false(refuses(7, 1, 11))
    end
  end)

  it("begin where the first of several refused batches does", function()
    note(7, 1, 10)
    note(7, 1, 20)
    close(7, 1, 15, 20)
    assert.is_true(refuses(7, 1, 11))
    note(7, 1, 5)
    close(7, 1, 10, 11)
    assert.is_true(refuses(7, 1, 6))
    close(7, 1, 5, 6)
    assert.is_false(refuses(7, 1, 6))
  end)

  it("of an older epoch do not count beside those of a newer one", function()
    note(7, 1, 10)
    note(7, 2, 0)
    note(7, 1, 5)
    assert.same({ false, true }, { refuses(7, 1, 11), refuses(7, 2, 1) })
  end)

  it("go round with the sequences", function()
    note(7, 0, 2147483647)
    assert.same({ true, false }, { refuses(7, 0, 0), refuses(7, 0, 2147483640) })
  end)

  it("are forgotten after a while", function()
    note(7, 0, 10, 1000)
    assert.is_true(refuses(7, 0, 11, 1000 + C.GAPS_KEPT_MS - 1))
    assert.is_false(refuses(7, 0, 11, 1000 + C.GAPS_KEPT_MS))
    assert.is_false(refuses(7, 0, 11, 1000))
  end)

  it("are remembered of so many producers: the one noted longest ago is forgotten", function()
    for i = 0, C.GAPS_MAX do note(i, 0, 10, i == 0 and 5000 or i) end
    assert.same({ true, false, true }, { refuses(0, 0, 11), refuses(1, 0, 11), refuses(C.GAPS_MAX, 0, 11) })
  end)
end)
