-- SPDX-License-Identifier: Apache-2.0
--
-- StreamsGroupDescribe: state, topology and members of streams groups (KIP-1071).
return {
  key = 89,
  name = "StreamsGroupDescribe",
  versions = "0-1",
  flexible = "0+",
  request = {
    { "GroupIds", "[]string", "0+" }, -- groups to describe
    { "IncludeAuthorizedOperations", "bool", "0+" }, -- true: say what the client may do with the groups (KIP-430)
    { "IncludeTopologyDescription", "bool", "1+" }, -- true: with the description of the topology
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "Groups", "[]DescribedGroup", "0+", -- an answer for each group
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
      { "GroupId", "string", "0+" }, -- group id
      { "GroupState", "string", "0+" }, -- state, such as "Stable" or "Empty"
      { "GroupEpoch", "int32", "0+" }, -- version of members and subscriptions
      { "AssignmentEpoch", "int32", "0+" }, -- group epoch of the current target assignment
      -- how the application processes; null: unchanged, or unknown
      { "Topology", "Topology", "0+", null = "0+", default = "null",
        { "Epoch", "int32", "0+" }, -- version of the topology
        { "Subtopologies", "[]Subtopology", "0+", null = "0+", default = "null", -- the subtopologies
          { "SubtopologyId", "string", "0+" }, -- id of the subtopology
          { "SourceTopics", "[]string", "0+" }, -- topics read
          { "RepartitionSinkTopics", "[]string", "0+" }, -- internal topics that the subtopology writes
          { "StateChangelogTopics", "[]TopicInfo", "0+" }, -- internal topics that hold the stores' changes
          { "RepartitionSourceTopics", "[]TopicInfo", "0+" }, -- internal topics that the subtopology reads
        },
      },
      { "Members", "[]Member", "0+", -- members of the group
        { "MemberId", "string", "0+" }, -- member id; empty: none yet
        -- epoch of the member (KIP-848); in a request 0: join, -1: leave, -2: a static member leaves
        { "MemberEpoch", "int32", "0+" },
        { "InstanceId", "string", "0+", null = "0+", default = "null" }, -- name of a static member; null: a dynamic one
        { "RackId", "string", "0+", null = "0+", default = "null" }, -- rack of the client; empty or null: unknown
        { "ClientId", "string", "0+" }, -- what the client calls itself
        { "ClientHost", "string", "0+" }, -- address of the member
        { "TopologyEpoch", "int32", "0+" }, -- version of the topology
        { "ProcessId", "string", "0+" }, -- id of the instance's process; null: unchanged
        -- where the instance answers queries; null: nowhere, or unchanged
        { "UserEndpoint", "Endpoint", "0+", null = "0+", default = "null" },
        -- labels of the instance, for rack-aware standbys; in a request null: unchanged
        { "ClientTags", "[]KeyValue", "0+" },
        { "TaskOffsets", "[]TaskOffset", "0+" }, -- offsets that the tasks have reached; in a request null: unchanged
        -- end offsets of the tasks' changelogs; in a request null: unchanged
        { "TaskEndOffsets", "[]TaskOffset", "0+" },
        { "Assignment", "Assignment", "0+" }, -- what the member has; in a response null: unchanged
        { "TargetAssignment", "Assignment", "0+" }, -- what the member is to have
        { "IsClassic", "bool", "0+" }, -- true: the member is not yet on the streams protocol
      },
      -- bit set of what the client may do with the group (KIP-430); -2147483648: not asked for
      { "AuthorizedOperations", "int32", "0+", default = -2147483648 },
      -- the topology described for people and tools; null: not asked for
      { "TopologyDescription", "TopologyDescription", "1+", null = "1+", default = "null" },
      { "TopologyDescriptionStatus", "int8", "1+" }, -- whether the description is there, and why not
      { "AssignorName", "string", "1+", null = "1+", default = "null", ignorable = true }, -- assignor in use
    },
  },
  response_structs = {
    { "Endpoint", -- an address
      { "Host", "string", "0+" }, -- host name or address
      { "Port", "uint16", "0+" }, -- TCP port
    },
    { "TaskOffset", -- an offset of a task
      { "SubtopologyId", "string", "0+" }, -- id of the subtopology
      { "Partition", "int32", "0+" }, -- partition, from 0
      { "Offset", "int64", "0+" }, -- offset in the changelog
    },
    { "Assignment", -- partitions or tasks of a member
      { "ActiveTasks", "[]TaskIds", "0+" }, -- tasks to process; in a request null: as in the last heartbeat
      -- tasks to keep a warm copy of; in a request null: as in the last heartbeat
      { "StandbyTasks", "[]TaskIds", "0+" },
      -- tasks to warm up before they move here; in a request null: as in the last heartbeat
      { "WarmupTasks", "[]TaskIds", "0+" },
    },
    { "TaskIds", -- tasks of a subtopology
      { "SubtopologyId", "string", "0+" }, -- id of the subtopology
      { "Partitions", "[]int32", "0+" }, -- partitions, from 0
    },
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
    { "TopologyDescription", -- a description for people and tools
      { "Subtopologies", "[]TopologyDescriptionSubtopology", "1+" }, -- the subtopologies
      { "GlobalStores", "[]TopologyDescriptionGlobalStore", "1+" }, -- stores that every instance keeps whole
    },
    { "TopologyDescriptionSubtopology", -- a part of the topology without links to others
      { "SubtopologyId", "string", "1+" }, -- id of the subtopology
      { "Nodes", "[]TopologyDescriptionNode", "1+" }, -- nodes of the subtopology
    },
    { "TopologyDescriptionNode", -- a source, processor or sink
      { "Name", "string", "1+" }, -- name of the node
      { "NodeType", "int8", "1+" }, -- kind of node: source, processor or sink
      { "SourceTopics", "[]string", "1+" }, -- topics read
      { "SinkTopic", "string", "1+", null = "1+", default = "null" }, -- topic written; null: chosen for each record
      { "Stores", "[]string", "1+" }, -- names of state stores
      { "Successors", "[]string", "1+" }, -- names of the nodes that follow
    },
    { "TopologyDescriptionGlobalStore", -- a store that every instance keeps whole
      { "Source", "TopologyDescriptionNode", "1+" }, -- its source
      { "Processor", "TopologyDescriptionNode", "1+" }, -- its processor
    },
  },
}
