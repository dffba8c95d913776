-- SPDX-License-Identifier: Apache-2.0
-- `scripts/conformance tools`: Apache Kafka's command-line tools on Luka and on Apache Kafka.
-- usage: luka-spec --run scripts/tools/run.lua luka|kafka|both [STEPS...]
return require("scripts.tools.main").main(arg)
