-- SPDX-License-Identifier: Apache-2.0
--
-- DeleteShareGroupOffsets: deletes start offsets of a share group (KIP-932).
return {
  key = 92,
  name = "DeleteShareGroupOffsets",
  versions = "0",
  flexible = "0+",
  request = {
    { "GroupId", "string", "0+" }, -- group id
    { "Topics", "[]DeleteShareGroupOffsetsRequestTopic", "0+", -- the topics
      { "TopicName", "string", "0+" }, -- topic name
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
    { "Responses", "[]DeleteShareGroupOffsetsResponseTopic", "0+", -- an answer for each topic
      { "TopicName", "string", "0+" }, -- topic name
      { "TopicId", "uuid", "0+" }, -- topic id (KIP-516); zero: none
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      { "ErrorMessage", "string", "0+", null = "0+", default = "null" }, -- what went wrong; null: nothing more to say
    },
  },
}
