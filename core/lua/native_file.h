// SPDX-License-Identifier: Apache-2.0
//
// `require "luka.native.file"`: what the command line asks about names in the file system and Lua's io library cannot
// tell. Waits for the disk: the command line's state only.
//
//    kind(path) -> "file" | "folder" | "other" | nil, error    links are followed; an other one may not open at once
//    data_end(path) -> bytes | nil, error             behind it a file has a hole to its end: nothing but zeros
//    list(path) -> names | nil, error                 all but "." and "..", in no order
#pragma once

struct lua_State;

/// Pushes the module's table; a lua_CFunction.
int native_file_open(struct lua_State *vm);
