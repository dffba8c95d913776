-- SPDX-License-Identifier: Apache-2.0
-- `make bench`: Luka, Apache Kafka and what the machine can do at all, in alternating rounds of one run.
-- usage: luka-spec --run scripts/bench/run.lua FOLDER [ROUNDS=n] [ONLY=scenario,...] [KAFKA=0]
return require("scripts.bench.main").main(arg)
