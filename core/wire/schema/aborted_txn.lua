-- SPDX-License-Identifier: Apache-2.0
--
-- An entry of a .txnindex file, behind a 16-bit version.
return {
  messages = {
    {
      name = "AbortedTxn",
      versions = "0",
      flexible = "none",
      fields = {
        { "ProducerId", "int64", "0+" }, -- producer id
        { "FirstOffset", "int64", "0+" }, -- offset of the transaction's first record
        { "LastOffset", "int64", "0+" }, -- offset of its abort marker
        { "LastStableOffset", "int64", "0+" }, -- last stable offset when the marker was written
      },
    },
  },
}
