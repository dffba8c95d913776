-- SPDX-License-Identifier: Apache-2.0
--
-- ListTransactions: transactions that a broker coordinates (KIP-664).
return {
  key = 66,
  name = "ListTransactions",
  versions = "0-2",
  flexible = "0+",
  request = {
    { "StateFilters", "[]string", "0+" }, -- only transactions in these states; empty: all
    { "ProducerIdFilters", "[]int64", "0+" }, -- only these producer ids; empty: all
    { "DurationFilter", "int64", "1+", default = -1 }, -- only transactions open for longer, ms; negative: all (KIP-994)
    -- only ids that match, RE2; null or empty: all
    { "TransactionalIdPattern", "string", "2+", null = "2+", default = "null" },
  },
  response = {
    { "ThrottleTimeMs", "int32", "0+" }, -- ms that the client should wait for a quota's sake; 0: none (KIP-219)
    { "ErrorCode", "int16", "0+" }, -- outcome; enum wire_error
    { "UnknownStateFilters", "[]string", "0+" }, -- states asked for that there are not
    { "TransactionStates", "[]TransactionState", "0+", -- the transactions
      { "TransactionalId", "string", "0+" }, -- transactional id
      { "ProducerId", "int64", "0+" }, -- producer id; -1: none
      { "TransactionState", "string", "0+" }, -- state, such as "Ongoing"
    },
  },
}
