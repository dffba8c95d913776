-- SPDX-License-Identifier: Apache-2.0
-- The words of Luka's console for the Lua language server. Made from the help in lua/luka/words by `make docs`; do not
-- edit.
---@meta luka.console

---@class luka.ReadingOptions
---@field from? string|integer|table<integer, integer>  "earliest", "latest", an offset, offsets by partition, "1h" ago
---@field ago? number  ms
---@field filter? fun(record: luka.Record): any
---@field count? integer
---@field key? string|number
---@field partition? integer
---@field partitions? integer[]

---@class luka.Record
---@field topic string
---@field partition integer
---@field offset integer
---@field timestamp? integer  ms since 1970
---@field key? string
---@field value? string
---@field headers? table<string, string>|{ key: string, value?: string }[]  a list when a name comes twice or has no value

---@class luka.ResetOptions
---@field to? string|integer|table<integer, integer>  "earliest", "latest", "current", an offset, offsets by partition, "1h" ago, a date
---@field by? integer  records forth, or back
---@field ago? number  ms
---@field time? integer  ms since 1970
---@field topic? string
---@field topics? string[]
---@field partition? integer
---@field partitions? integer[]
---@field dry? boolean

---@class luka.ProbedRequest
---@field api string  "Fetch"
---@field version integer
---@field client_id string
---@field address string
---@field correlation_id integer
---@field size integer  bytes
---@field body? table  fields in snake_case
---@field delay fun(self: luka.ProbedRequest, ms: number)
---@field fail fun(self: luka.ProbedRequest, code: string, options?: { at?: "request"|"each", message?: string })
---@field close fun(self: luka.ProbedRequest)
---@field drop fun(self: luka.ProbedRequest)

---@class luka.Admin
---@field topics fun(): table[]
---@field describe_topic fun(name: string): table
---@field create_topic fun(name: string, options?: table): table
---@field delete_topic fun(name: string)
---@field create_partitions fun(name: string, total: integer, options?: table): integer
---@field describe_configs fun(kind: "topic"|"broker", name?: string|integer, options?: table): table[]
---@field alter_configs fun(kind: "topic"|"broker", name: string|integer|nil, changes: table)
---@field describe_log_dirs fun(): table[]
---@field alter_replica_log_dirs fun(topic: string, partition: integer, path: string)
---@field describe_cluster fun(): table
---@field describe_producers fun(topic: string, partition?: integer): table[]
---@field list_offsets fun(topic: string, what: any, partitions?: integer[]): table[]
---@field delete_records fun(topic: string, offsets: table): table<integer, integer>
---@field produce fun(topic: string, records: any, options?: table): any
---@field fetch fun(topic: string, offsets: table<integer, integer>, options?: table): luka.Record[], table<integer, integer>
---@field groups fun(options?: { part?: string, lag?: boolean }): table[]
---@field lag fun(part?: string): table[]
---@field group fun(name: string): table
---@field find_coordinator fun(name: string): integer
---@field delete_group fun(name: string)
---@field remove_members fun(name: string, which: "all"|string|string[], reason?: string): table[]
---@field offsets fun(name: string): table[]
---@field commit_offsets fun(name: string, offsets: table<string, table<integer, any>>)
---@field delete_offsets fun(name: string, partitions: table<string, integer[]>)
---@field reset_offsets fun(name: string, options: luka.ResetOptions): table[]

---@class luka.TopicObject
---@field name string
---@field describe fun(self: luka.TopicObject): table  Name, id, partitions, records, size, set configs.
---@field partitions fun(self: luka.TopicObject): table[]  Its partitions: leader, offsets, size, directory.
---@field configs fun(self: luka.TopicObject, part?: string): table[]  Its configs: value, source; those set on it first.
---@field set fun(self: luka.TopicObject, values: table<string, any>): table[]  Sets configs, all of them or none.
---@field unset fun(self: luka.TopicObject, ...: string): table[]  Takes configs back to the broker's value.
---@field add_partitions fun(self: luka.TopicObject, how_many: integer): table  Adds partitions; says how many there are then.
---@field delete_records fun(self: luka.TopicObject, before: "all"|table<integer, integer>): table[]?  Deletes the records before an offset; asks first.
---@field delete fun(self: luka.TopicObject)  Deletes the topic with all its records; asks first.
---@field logs fun(self: luka.TopicObject, partition?: integer): table[]  Its logs on this broker: offsets, size, segments, folder.
---@field segments fun(self: luka.TopicObject, partition?: integer): table[]  The segments of its logs here: offsets, size, age, file.
---@field retention_plan fun(self: luka.TopicObject, partition?: integer): table[]  Which segments retention deletes, by which rule, and when.

---@class luka.GroupObject
---@field name string
---@field describe fun(self: luka.GroupObject): table  All of it as a record, with the lists in it.
---@field members fun(self: luka.GroupObject): table[]  Its members: client, host, partitions.
---@field offsets fun(self: luka.GroupObject): table[]  What it has committed, and the lag, by partition.

--- All topics: partitions, records, size, configs set.
---@type fun(part?: string): table[]
topics = nil

--- Creates a topic.
---@type fun(name: string, options?: table): luka.TopicObject
create = nil

--- A topic, with methods to look into it and change it.
---@type fun(name: string|luka.TopicObject): luka.TopicObject
topic = nil

--- Compacted topics: how far the cleaner is, and errors.
---@type fun(part?: string): table[]
compaction = nil

--- Writes a record, or a list of records.
---@type fun(topic: string|luka.TopicObject, records: string|table, options?: { partition?: integer, compression?: string, acks?: integer }): table
produce = nil

--- Shows records as they come, until Ctrl-C.
---@type fun(topic: string|luka.TopicObject, options?: luka.ReadingOptions)
tail = nil

--- The records that are there now, as a list.
---@type fun(topic: string|luka.TopicObject, options?: luka.ReadingOptions): luka.Record[]
records = nil

--- All groups: type, state, members, lag.
---@type fun(part?: string): table[]
groups = nil

--- A group: state, members, lag, and what it waits for.
---@type fun(name: string|luka.GroupObject): luka.GroupObject
group = nil

--- Puts a group's offsets elsewhere; asks first.
---@type fun(group: string|luka.GroupObject, options: luka.ResetOptions): table[]?
reset_offsets = nil

--- Commits one offset in the name of a group.
---@type fun(group: string|luka.GroupObject, topic: string|luka.TopicObject, partition: integer, offset: integer, metadata?: string): table
commit = nil

--- Takes members out of a group.
---@type fun(group: string|luka.GroupObject, member: "all"|string|string[], reason?: string): table[]?
kick = nil

--- Deletes what a group has committed; asks first.
---@type fun(group: string|luka.GroupObject, topic: string|luka.TopicObject, partitions?: integer|integer[]): table[]?
delete_offsets = nil

--- Deletes a group with its offsets; asks first.
---@type fun(name: string|luka.GroupObject)
delete_group = nil

--- Partitions of all topics: offsets, size, directory.
---@type fun(part?: string): table[]
partitions = nil

--- The log directories: state, partitions, free space.
---@type fun(): table[]
log_dirs = nil

--- The brokers, and which one is the controller.
---@type fun(): table[]
brokers = nil

--- The clients: who they are, what they sent and wait for.
---@type fun(part?: string): table[]
connections = nil

--- What the broker counts and measures, as a record.
---@type fun(part?: string): table<string, integer>
metrics = nil

--- Requests by kind: how many, errors, how long they take.
---@type fun(part_or_seconds?: string|number, seconds?: number): table[]
requests = nil

--- What is written to topics and read from them, a second.
---@type fun(part_or_seconds?: string|number, seconds?: number): table[]
rates = nil

--- Has a function see requests, and delay or fail them.
---@type { request: fun(api: string, fn: fun(request: luka.ProbedRequest)) }
on = nil

--- Takes off what this console's on.request() put on.
---@type fun(api?: string): integer
off = nil

--- Prints what a client asks for and is answered, until Ctrl-C.
---@type fun(part?: string, seconds?: number)
trace = nil

--- Functions of config.lua: calls, times, errors.
---@type fun(name?: string): table[]|table
policies = nil

--- Reads the configuration again; shows what came of it.
---@type fun(): table[]
reload = nil

--- Stops the broker cleanly; asks first on a terminal.
---@type fun()
stop = nil

--- Lists the words, or says more about one, or a config.
---@type fun(word?: any): table[]?
help = nil

--- Shows a result again and again, until Ctrl-C.
---@type fun(seconds: number, fn: function)
watch = nil

--- Prints values, with tabs between them.
---@type fun(...: any)
print = nil

--- The administration with Kafka's names, for scripts.
---@type luka.Admin
admin = nil

--- Durations in milliseconds and sizes in bytes.
---@type fun(n: number): number
hours = nil

--- Durations in milliseconds and sizes in bytes.
---@type fun(n: number): number
seconds = nil

--- Durations in milliseconds and sizes in bytes.
---@type fun(n: number): number
minutes = nil

--- Durations in milliseconds and sizes in bytes.
---@type fun(n: number): number
days = nil

--- Durations in milliseconds and sizes in bytes.
---@type integer
KiB = nil

--- Durations in milliseconds and sizes in bytes.
---@type integer
MiB = nil

--- Durations in milliseconds and sizes in bytes.
---@type integer
GiB = nil
