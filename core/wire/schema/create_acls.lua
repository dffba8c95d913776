-- SPDX-License-Identifier: Apache-2.0
--
-- CreateAcls: adds access rules (KIP-140).
return {
  key = 30,
  name = "CreateAcls",
  versions = "0-3",
  flexible = "2+",
  request = {
    { "Creations", "[]AclCreation", "0+", -- rules to create
      { "ResourceType", "int8", "0+" }, -- 2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user
      { "ResourceName", "string", "0+" }, -- name of the resource
      { "ResourcePatternType", "int8", "1+", default = 3 }, -- how the name is meant: 3 literal, 4 prefix (KIP-290)
      { "Principal", "string", "0+" }, -- whom the rule is for, "User:name"
      { "Host", "string", "0+" }, -- host that the rule is for; "*": any
      -- 2 all, 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe, 9 cluster action and on
      { "Operation", "int8", "0+" },
      { "PermissionType", "int8", "0+" }, -- 0 unknown, 1 any, 2 deny, 3 allow
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "Results", "[]AclCreationResult", "0+", -- an answer for each item of the request
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      { "ErrorMessage", "string", "0+", null = "0+" }, -- what went wrong; null: nothing more to say
    },
  },
}
