-- SPDX-License-Identifier: Apache-2.0
--
-- StreamsGroupHeartbeat: joins, keeps and leaves a group of Kafka Streams instances (KIP-1071).
return {
  key = 88,
  name = "StreamsGroupHeartbeat",
  versions = "0-1",
  flexible = "0+",
  request = {
    { "GroupId", "string", "0+" }, -- group id
    { "MemberId", "string", "0+" }, -- member id; empty: none yet
    -- epoch of the member (KIP-848); in a request 0: join, -1: leave, -2: a static member leaves
    { "MemberEpoch", "int32", "0+" },
    { "EndpointInformationEpoch", "int32", "0+" }, -- version of the endpoints that the member knows or gets
    { "InstanceId", "string", "0+", null = "0+", default = "null" }, -- name of a static member; null: a dynamic one
    { "RackId", "string", "0+", null = "0+", default = "null" }, -- rack of the client; empty or null: unknown
    { "RebalanceTimeoutMs", "int32", "0+", default = -1 }, -- ms that the member has to give tasks up; -1: unchanged
    -- how the application processes; null: unchanged, or unknown
    { "Topology", "Topology", "0+", null = "0+", default = "null",
      { "Epoch", "int32", "0+" }, -- version of the topology
      { "Subtopologies", "[]Subtopology", "0+", -- the subtopologies
        { "SubtopologyId", "string", "0+" }, -- id of the subtopology
        { "SourceTopics", "[]string", "0+" }, -- topics read
        { "SourceTopicRegex", "[]string", "0+" }, -- patterns of topics that the subtopology reads
        { "StateChangelogTopics", "[]TopicInfo", "0+" }, -- internal topics that hold the stores' changes
        { "RepartitionSinkTopics", "[]string", "0+" }, -- internal topics that the subtopology writes
        { "RepartitionSourceTopics", "[]TopicInfo", "0+" }, -- internal topics that the subtopology reads
        { "CopartitionGroups", "[]CopartitionGroup", "0+", -- sets of topics that need the same number of partitions
          { "SourceTopics", "[]int16", "0+" }, -- members of the set, as indexes into SourceTopics
          { "SourceTopicRegex", "[]int16", "0+" }, -- members of the set, as indexes into SourceTopicRegex
          { "RepartitionSourceTopics", "[]int16", "0+" }, -- members of the set, as indexes into RepartitionSourceTopics
        },
      },
    },
    -- tasks to process; in a request null: as in the last heartbeat
    { "ActiveTasks", "[]TaskIds", "0+", null = "0+", default = "null" },
    -- tasks to keep a warm copy of; in a request null: as in the last heartbeat
    { "StandbyTasks", "[]TaskIds", "0+", null = "0+", default = "null" },
    -- tasks to warm up before they move here; in a request null: as in the last heartbeat
    { "WarmupTasks", "[]TaskIds", "0+", null = "0+", default = "null" },
    { "ProcessId", "string", "0+", null = "0+", default = "null" }, -- id of the instance's process; null: unchanged
    -- where the instance answers queries; null: nowhere, or unchanged
    { "UserEndpoint", "Endpoint", "0+", null = "0+", default = "null" },
    -- labels of the instance, for rack-aware standbys; in a request null: unchanged
    { "ClientTags", "[]KeyValue", "0+", null = "0+", default = "null" },
    -- offsets that the tasks have reached; in a request null: unchanged
    { "TaskOffsets", "[]TaskOffset", "0+", null = "0+", default = "null" },
    -- end offsets of the tasks' changelogs; in a request null: unchanged
    { "TaskEndOffsets", "[]TaskOffset", "0+", null = "0+", default = "null" },
    { "ShutdownApplication", "bool", "0+" }, -- true: all instances of the application should stop
  },
  request_structs = {
    { "KeyValue", -- a name and its value
      { "Key", "string", "0+" }, -- name
      { "Value", "string", "0+" }, -- value
    },
    { "TopicInfo", -- an internal topic
      { "Name", "string", "0+" }, -- topic name
      { "Partitions", "int32", "0+" }, -- number of partitions; 0: as many as the sources have
      { "ReplicationFactor", "int16", "0+" }, -- number of replicas; 0: the broker's default
      { "TopicConfigs", "[]KeyValue", "0+" }, -- configs of the topic
    },
    { "Endpoint", -- an address
      { "Host", "string", "0+" }, -- host name or address
      { "Port", "uint16", "0+" }, -- TCP port
    },
    { "TaskOffset", -- an offset of a task
      { "SubtopologyId", "string", "0+" }, -- id of the subtopology
      { "Partition", "int32", "0+" }, -- partition, from 0
      { "Offset", "int64", "0+" }, -- offset in the changelog
    },
    { "TaskIds", -- tasks of a subtopology
      { "SubtopologyId", "string", "0+" }, -- id of the subtopology
      { "Partitions", "[]int32", "0+" }, -- partitions, from 0
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
    { "MemberId", "string", "0+" }, -- member id; empty: none yet
    -- epoch of the member (KIP-848); in a request 0: join, -1: leave, -2: a static member leaves
    { "MemberEpoch", "int32", "0+" },
    { "HeartbeatIntervalMs", "int32", "0+" }, -- ms between heartbeats
    { "AcceptableRecoveryLagLegacy", "int32", "0" }, -- the same as 32 bits, of version 0
    { "TaskOffsetIntervalMs", "int32", "0+" }, -- ms between reports of task offsets
    -- lag in records below which a task counts as caught up (KIP-1071); -1: not set
    { "AcceptableRecoveryLag", "int64", "1+", default = -1, ignorable = true },
    { "Status", "[]Status", "0+", null = "0+" }, -- things the member should know; null: unchanged
    -- tasks to process; in a request null: as in the last heartbeat
    { "ActiveTasks", "[]TaskIds", "0+", null = "0+", default = "null" },
    -- tasks to keep a warm copy of; in a request null: as in the last heartbeat
    { "StandbyTasks", "[]TaskIds", "0+", null = "0+", default = "null" },
    -- tasks to warm up before they move here; in a request null: as in the last heartbeat
    { "WarmupTasks", "[]TaskIds", "0+", null = "0+", default = "null" },
    { "TopologyDescriptionRequired", "bool", "1+" }, -- true: send the description with the next request of that kind
    { "EndpointInformationEpoch", "int32", "0+" }, -- version of the endpoints that the member knows or gets
    -- which instance has which partitions; null: unchanged
    { "PartitionsByUserEndpoint", "[]EndpointToPartitions", "0+", null = "0+", default = "null",
      { "UserEndpoint", "Endpoint", "0+" }, -- where the instance answers queries; null: nowhere, or unchanged
      { "ActivePartitions", "[]TopicPartition", "0+" }, -- partitions whose tasks are active there
      { "StandbyPartitions", "[]TopicPartition", "0+" }, -- partitions whose tasks are on standby there
    },
  },
  response_structs = {
    { "Status", -- something the member should know
      -- 0 stale topology, 1 missing source topics, 2 wrong partitioning, 3 missing internal topics, 4 shut down
      { "StatusCode", "int8", "0+" },
      { "StatusDetail", "string", "0+" }, -- in words
    },
    { "TopicPartition", -- partitions of a topic
      { "Topic", "string", "0+" }, -- topic name
      { "Partitions", "[]int32", "0+" }, -- partitions, from 0
    },
    { "TaskIds", -- tasks of a subtopology
      { "SubtopologyId", "string", "0+" }, -- id of the subtopology
      { "Partitions", "[]int32", "0+" }, -- partitions, from 0
    },
    { "Endpoint", -- an address
      { "Host", "string", "0+" }, -- host name or address
      { "Port", "uint16", "0+" }, -- TCP port
    },
  },
}
