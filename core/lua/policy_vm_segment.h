// SPDX-License-Identifier: Apache-2.0
//
// A segment as `retention` and `archive` functions see it, and what they can do with it.
#pragma once

struct lua_State;
struct policy_segment;

/// Pushes a table of what is known of the segment, with a method `copy`. In protected mode.
void policy_vm_push_segment(struct lua_State *vm, const struct policy_segment *segment);
