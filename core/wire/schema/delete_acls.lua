-- SPDX-License-Identifier: Apache-2.0
--
-- DeleteAcls: deletes access rules (KIP-140).
return {
  key = 31,
  name = "DeleteAcls",
  versions = "0-3",
  flexible = "2+",
  request = {
    { "Filters", "[]DeleteAclsFilter", "0+", -- rules to delete
      -- kind: 1 any, 2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user
      { "ResourceTypeFilter", "int8", "0+" },
      { "ResourceNameFilter", "string", "0+", null = "0+" }, -- name; null: any
      { "PatternTypeFilter", "int8", "1+", default = 3 }, -- 1 any, 2 all that match, 3 literal, 4 prefix (KIP-290)
      { "PrincipalFilter", "string", "0+", null = "0+" }, -- principal; null: any
      { "HostFilter", "string", "0+", null = "0+" }, -- host; null: any
      { "Operation", "int8", "0+" }, -- 1 any; otherwise as in CreateAcls
      { "PermissionType", "int8", "0+" }, -- 1 any, 2 deny, 3 allow
    },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "FilterResults", "[]DeleteAclsFilterResult", "0+", -- an answer for each filter
      { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
      { "ErrorMessage", "string", "0+", null = "0+" }, -- what went wrong; null: nothing more to say
      { "MatchingAcls", "[]DeleteAclsMatchingAcl", "0+", -- rules that were deleted
        { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
        { "ErrorMessage", "string", "0+", null = "0+" }, -- what went wrong; null: nothing more to say
        { "ResourceType", "int8", "0+" }, -- 2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user
        { "ResourceName", "string", "0+" }, -- name of the resource
        { "PatternType", "int8", "1+", default = 3 }, -- how the name is meant: 3 literal, 4 prefix (KIP-290)
        { "Principal", "string", "0+" }, -- whom the rule is for, "User:name"
        { "Host", "string", "0+" }, -- host that the rule is for; "*": any
        { "Operation", "int8", "0+" }, -- as in CreateAcls
        { "PermissionType", "int8", "0+" }, -- 0 unknown, 1 any, 2 deny, 3 allow
      },
    },
  },
}
