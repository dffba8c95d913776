-- SPDX-License-Identifier: Apache-2.0
-- A broker with policies of C functions (spec/support/c/policy_probe.h), called like the program by spec/support/broker.lua
-- with `program`: luka-spec --run spec/support/policy_broker.lua serve --set key=value ...
local ffi = require "ffi"
local unit = require "spec.support.unit"

local C = unit.load "policy_broker.h"
local sets = {}
for index, word in ipairs(arg) do
  if word == "--set" then sets[#sets + 1] = arg[index + 1] end
end
os.exit(C.policy_broker_serve(ffi.new("const char *[?]", #sets + 1, sets), #sets))
