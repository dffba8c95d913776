// SPDX-License-Identifier: Apache-2.0
//
// The two halves of `luka.native.record`: reading (native_record.c) and building (native_record_build.c).
#pragma once

struct lua_State;

/// build(records [, options]) -> bytes | nil, error; a lua_CFunction.
int native_record_build(struct lua_State *vm);
