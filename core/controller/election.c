// SPDX-License-Identifier: Apache-2.0
//
// Elections of leaders, by Kafka's rules for new and for offline partitions. Called by the controller.
#include "controller/election.h"

static bool has_id(const int32_t *ids, int32_t count, int32_t id)
{
  for (int32_t i = 0; i < count; i++) {
    if (ids[i] == id) {
      return true;
    }
  }
  return false;
}

void election_new(const struct election *election, struct election_state *state)
{
  state->leader = -1;
  state->leader_epoch = 0;
  state->isr_count = 0;
  for (int32_t i = 0; i < election->replica_count; i++) {
    int32_t id = election->replicas[i];
    if (has_id(election->live, election->live_count, id)) {
      state->leader = state->leader < 0 ? id : state->leader;
      state->isr[state->isr_count++] = id;
    }
  }
  if (state->leader >= 0) {
    return;
  }
  for (int32_t i = 0; i < election->replica_count; i++) {
    state->isr[state->isr_count++] = election->replicas[i];
  }
}

/// Keeps the live ones.
static void shrink_isr(const struct election *election, struct election_state *state)
{
  int32_t kept = 0;
  for (int32_t i = 0; i < state->isr_count; i++) {
    if (has_id(election->live, election->live_count, state->isr[i])) {
      state->isr[kept++] = state->isr[i];
    }
  }
  state->isr_count = kept;
}

bool election_renew(const struct election *election, struct election_state *state)
{
  if (state->leader >= 0 && has_id(election->live, election->live_count, state->leader)) {
    if (state->leader != election->restarted) {
      return false;
    }
    state->leader_epoch++;
    return true;
  }
  int32_t last_resort = -1;
  for (int32_t i = 0; i < election->replica_count; i++) {
    int32_t id = election->replicas[i];
    if (!has_id(election->live, election->live_count, id)) {
      continue;
    }
    if (has_id(state->isr, state->isr_count, id)) {
      shrink_isr(election, state);
      state->leader = id;
      state->leader_epoch++;
      return true;
    }
    last_resort = last_resort < 0 ? id : last_resort;
  }
  if (last_resort >= 0 && election->is_unclean_allowed) {
    state->leader = last_resort;
    state->leader_epoch++;
    state->isr[0] = last_resort;
    state->isr_count = 1;
    return true;
  }
  if (state->leader < 0) {
    return false;
  }
  state->leader = -1;
  state->leader_epoch++;
  return true;
}
