// SPDX-License-Identifier: Apache-2.0
//
// The range assignor: what joins records of two topics by partition needs, since the same partitions of both go to one
// member.
#include "coordinator/assignor.h"

#include "base/mem.h"

void assignor_range(const struct assignor_input *input, int32_t *owner)
{
  // How many subscribers each topic has, and how many of them were served.
  int32_t *subscribers = mem_array((size_t)input->topic_count * 2 + 1, sizeof *subscribers);
  int32_t *served = subscribers + input->topic_count;
  for (int32_t i = 0; i < input->first[input->topic_count]; i++) {
    owner[i] = ASSIGNOR_NOBODY;
  }
  for (int32_t m = 0; m < input->member_count; m++) {
    for (int32_t t = 0; t < input->members[m].topic_count; t++) {
      subscribers[input->members[m].topics[t]]++;
    }
  }
  for (int32_t m = 0; m < input->member_count; m++) {
    for (int32_t t = 0; t < input->members[m].topic_count; t++) {
      int32_t topic = input->members[m].topics[t];
      int32_t partitions = input->first[topic + 1] - input->first[topic];
      int32_t least = partitions / subscribers[topic];
      int32_t extra = partitions % subscribers[topic]; // the first of them get one more
      int32_t place = served[topic]++;
      int32_t begin = input->first[topic] + place * least + (place < extra ? place : extra);
      int32_t end = begin + least + (place < extra ? 1 : 0);
      for (int32_t i = begin; i < end; i++) {
        owner[i] = m;
      }
    }
  }
  mem_free(subscribers);
}
