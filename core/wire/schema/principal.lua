-- SPDX-License-Identifier: Apache-2.0
--
-- How a principal is serialised in Envelope, behind a 16-bit version.
return {
  messages = {
    {
      name = "DefaultPrincipalData",
      versions = "0",
      flexible = "0+",
      fields = {
        { "Type", "string", "0+" }, -- type of the principal, "User"
        { "Name", "string", "0+" }, -- name of the principal
        { "TokenAuthenticated", "bool", "0+" }, -- true: authenticated by a delegation token
      },
    },
  },
}
