-- SPDX-License-Identifier: Apache-2.0
--
-- DeleteTopics: deletes topics.
return {
  key = 20,
  name = "DeleteTopics",
  versions = "0-6",
  flexible = "4+",
  request = {
    { "Topics", "[]DeleteTopicState", "6+", -- topics to delete, by name or id (KIP-516)
      { "Name", "string", "6+", null = "6+", default = "null" }, -- topic name; null: see TopicId
      { "TopicId", "uuid", "6+" }, -- topic id (KIP-516); zero: none
    },
    { "TopicNames", "[]string", "0-5", ignorable = true }, -- topics to delete, by name
    { "TimeoutMs", "int32", "0+" }, -- ms to wait for the work to be done
  },
  response = {
    -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ThrottleTimeMs", "int32", "1+", ignorable = true },
    { "Responses", "[]DeletableTopicResult", "0+", -- an answer for each topic
      { "Name", "string", "0+", null = "6+" }, -- topic name; null: an id that is not known
      { "TopicId", "uuid", "6+", ignorable = true }, -- topic id (KIP-516); zero: none
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      -- what went wrong; null: nothing more to say
      { "ErrorMessage", "string", "5+", null = "5+", default = "null", ignorable = true },
    },
  },
}
