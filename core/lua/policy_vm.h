// SPDX-License-Identifier: Apache-2.0
//
// The VM of policies that are Lua functions (policy/vm.h): two Lua states made of the sources of a set. In one the
// compiler is off and each record has a budget of time; the other is for policies that say `jit = true`, and is only
// made where there is one: what its compiler made looks at no clock, so that who runs it watches struct
// policy_progress.
#pragma once

struct policy_set;
struct policy_vm;

/// Makes a VM: struct policy_set.new_vm. Evaluates the set's sources, which takes some milliseconds.
///
/// @param set      borrowed as long as the VM lives
/// @param[out] vm  owned: vm->class->free(vm); of the thread that made it
/// @return 0, ERR_SCRIPT
int lua_policy_vm_new(const struct policy_set *set, struct policy_vm **vm);
