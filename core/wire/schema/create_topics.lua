-- SPDX-License-Identifier: Apache-2.0
--
-- CreateTopics: creates topics.
return {
  key = 19,
  name = "CreateTopics",
  versions = "0-7",
  flexible = "5+",
  request = {
    { "Topics", "[]CreatableTopic", "0+", -- topics to create
      { "Name", "string", "0+" }, -- topic name
      { "NumPartitions", "int32", "0+" }, -- number of partitions; -1: the broker's default (KIP-464), or unknown
      { "ReplicationFactor", "int16", "0+" }, -- number of replicas; -1: the broker's default (KIP-464), or unknown
      { "Assignments", "[]CreatableReplicaAssignment", "0+", -- replicas by hand; empty: the broker places them
        { "PartitionIndex", "int32", "0+" }, -- partition, from 0
        { "BrokerIds", "[]int32", "0+" }, -- broker ids of the replicas, the preferred leader first
      },
      { "Configs", "[]CreatableTopicConfig", "0+", -- configs of the topic
        { "Name", "string", "0+" }, -- name of the config
        { "Value", "string", "0+", null = "0+" }, -- value of the config; null: not set
      },
    },
    { "timeoutMs", "int32", "0+", default = 60000 }, -- ms to wait for the work to be done
    { "validateOnly", "bool", "1+" }, -- true: check, change nothing
  },
  response = {
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "2+", ignorable = true },
    { "Topics", "[]CreatableTopicResult", "0+", -- the topics
      { "Name", "string", "0+" }, -- topic name
      { "TopicId", "uuid", "7+", ignorable = true }, -- topic id (KIP-516); zero: none
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      { "ErrorMessage", "string", "1+", null = "0+", ignorable = true }, -- what went wrong; null: nothing more to say
      { "TopicConfigErrorCode", "int16", "5+", tag = 0, ignorable = true }, -- why Configs is null; enum wire_error
      -- number of partitions; -1: the broker's default (KIP-464), or unknown
      { "NumPartitions", "int32", "5+", default = -1, ignorable = true },
      -- number of replicas; -1: the broker's default (KIP-464), or unknown
      { "ReplicationFactor", "int16", "5+", default = -1, ignorable = true },
      -- configs in effect; null: the client may not see them
      { "Configs", "[]CreatableTopicConfigs", "5+", null = "5+", ignorable = true,
        { "Name", "string", "5+" }, -- name of the config
        { "Value", "string", "5+", null = "5+" }, -- value; null: none, or a secret
        { "ReadOnly", "bool", "5+" }, -- true: cannot be changed at run time
        -- where the value is from: 1 topic, 2 broker, 3 all brokers, 4 file, 5 built-in default; -1: unknown
        { "ConfigSource", "int8", "5+", default = -1, ignorable = true },
        { "IsSensitive", "bool", "5+" }, -- true: a secret; the value is null
      },
    },
  },
}
