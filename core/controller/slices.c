// SPDX-License-Identifier: Apache-2.0
//
// A change of tens of thousands of things, a few milliseconds at a time: whoever else needs the control thread comes in
// between. The change is the controller's current one meanwhile, so nothing else is changed, and the image stays.
#include "base/list.h"
#include "controller/controller_private.h"
#include "event/loop.h"
#include "os/clock.h"

enum { SLICE_NS = 2 * 1000 * 1000 };

static void run(struct controller *controller)
{
  struct controller_slices *slices = &controller->slices;
  int64_t until_ns = clock_mono_ns() + SLICE_NS;
  while (slices->next < slices->count) {
    slices->step(controller, slices->next++);
    if (clock_mono_ns() > until_ns && slices->next < slices->count) {
      event_loop_post(controller->settings.loop, &slices->mail);
      return;
    }
  }
  slices->done(controller);
}

static void go_on(struct mail *mail)
{
  run(CONTAINER_OF(mail, struct controller, slices.mail));
}

void controller_slices_run(struct controller *controller, int32_t count, controller_step_fn step,
                           void (*done)(struct controller *controller))
{
  controller->slices = (struct controller_slices){.mail = {.run = go_on}, .step = step, .done = done, .count = count};
  run(controller);
}
