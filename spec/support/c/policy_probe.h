// SPDX-License-Identifier: Apache-2.0
//
// A VM of C functions and a set of policies for it, so that runners and the produce path can be looked at without Lua.
//
// Topics, and what holds for them:
//
//   p.hash      partitioner: murmur2 of the key modulo partitions
//   p.impure    partitioner: one partition after the other, over all batches: a retry would be divided otherwise
//   p.nonsense  partitioner: chooses partition -1
//   p.raise     partitioner: fails
//   pt.both     partitioner as p.hash, transform as t.filter
//   t.filter    transform: drops records that have no header "keep"
//   t.upper     transform: values become upper case
//   t.double    transform: each record once more, with value "copy"
//   t.emit      transform: a record whose value begins with ">topic " goes to that topic instead
//   t.reject    transform: rejects records with value "bad"
//   t.raise     transform: fails
//   t.slow      transform: takes probe_slow_ms for each record
//   t.endless   transform: does not return before probe_release()
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct policy;
struct policy_set;

/// A set with one reference. @param fails  no VM can be made for it
const struct policy_set *probe_set_new(int64_t generation, bool fails);

/// The policy of a topic of the list above.
const struct policy *probe_policy(const struct policy_set *set, const char *topic);

/// How long each record of t.slow takes.
void probe_set_slow_ms(int ms);

/// Has endless calls return, those to come as well, until probe_hold().
void probe_release(void);
void probe_hold(void);

/// VMs that were made, that were freed, and that were freed on another thread than the one which made them.
struct probe_vms {
  int64_t made;      ///< so far
  int64_t freed;     ///< so far
  int64_t misplaced; ///< of these
};
void probe_vms_read(struct probe_vms *vms);

/// Calls of one policy so far, that is records; and errors.
int64_t probe_calls(const struct policy *policy);
int64_t probe_errors(const struct policy *policy);
