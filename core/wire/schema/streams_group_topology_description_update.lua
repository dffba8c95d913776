-- SPDX-License-Identifier: Apache-2.0
--
-- StreamsGroupTopologyDescriptionUpdate: a streams instance describes its topology for people and tools.
return {
  key = 93,
  name = "StreamsGroupTopologyDescriptionUpdate",
  versions = "0",
  flexible = "0+",
  request = {
    { "GroupId", "string", "0+" }, -- group id
    { "MemberId", "string", "0+" }, -- member id; empty: none yet
    { "TopologyEpoch", "int32", "0+" }, -- version of the topology
    -- the topology described for people and tools; null: not asked for
    { "TopologyDescription", "TopologyDescription", "0+" },
  },
  request_structs = {
    { "TopologyDescription", -- a description for people and tools
      { "Subtopologies", "[]TopologyDescriptionSubtopology", "0+" }, -- the subtopologies
      { "GlobalStores", "[]TopologyDescriptionGlobalStore", "0+" }, -- stores that every instance keeps whole
    },
    { "TopologyDescriptionSubtopology", -- a part of the topology without links to others
      { "SubtopologyId", "string", "0+" }, -- id of the subtopology
      { "Nodes", "[]TopologyDescriptionNode", "0+" }, -- nodes of the subtopology
    },
    { "TopologyDescriptionNode", -- a source, processor or sink
      { "Name", "string", "0+" }, -- name of the node
      { "NodeType", "int8", "0+" }, -- kind of node: source, processor or sink
      { "SourceTopics", "[]string", "0+" }, -- topics read
      { "SinkTopic", "string", "0+", null = "0+", default = "null" }, -- topic written; null: chosen for each record
      { "Stores", "[]string", "0+" }, -- names of state stores
      { "Successors", "[]string", "0+" }, -- names of the nodes that follow
    },
    { "TopologyDescriptionGlobalStore", -- a store that every instance keeps whole
      { "Source", "TopologyDescriptionNode", "0+" }, -- its source
      { "Processor", "TopologyDescriptionNode", "0+" }, -- its processor
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
  },
}
