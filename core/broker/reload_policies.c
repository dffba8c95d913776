// SPDX-License-Identifier: Apache-2.0
//
// What a reload says of the functions and views of a configuration: those that are new, gone, or have another text. One
// that uses something else now, a helper or a module, has not changed itself; then one line says that much.
#include <stdlib.h>
#include <string.h>

#include "broker/reload_report.h"
#include "lua/config.h"
#include "policy/policy.h"

/// Bytewise by what a policy is called; those that are called the same by their number.
static int policies_order(const void *left, const void *right)
{
  const struct policy *a = *(const struct policy *const *)left;
  const struct policy *b = *(const struct policy *const *)right;
  int order = strcmp(a->label, b->label);
  return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

static const struct policy **policies_sorted(struct reload_report *report, const struct policy_set *set, int *count)
{
  *count = set != NULL ? set->policy_count : 0;
  const struct policy **sorted = arena_alloc(&report->arena, (size_t)(*count + 1) * sizeof *sorted);
  for (int i = 0; i < *count; i++) {
    sorted[i] = &set->policies[i];
  }
  qsort(sorted, (size_t)*count, sizeof *sorted, policies_order);
  return sorted;
}

static void policies_add(struct reload_report *report, const struct policy *policy, const char *how)
{
  reload_report_applied(report, policy->label,
                        arena_printf(&report->arena, "%s, %s:%d", how, policy->source, policy->line));
}

/// Compares the functions; returns whether any of them differs.
static bool policies_compare(struct reload_report *report, const struct policy_set *running,
                             const struct policy_set *wanted)
{
  int before_count = 0;
  int after_count = 0;
  const struct policy **before = policies_sorted(report, running, &before_count);
  const struct policy **after = policies_sorted(report, wanted, &after_count);
  bool is_other = false;
  for (int i = 0, j = 0; i < before_count || j < after_count;) {
    int order = i == before_count ? 1 : j == after_count ? -1 : strcmp(before[i]->label, after[j]->label);
    if (order < 0) {
      reload_report_applied(report, before[i]->label, "gone");
    } else if (order > 0) {
      policies_add(report, after[j], "new");
    } else if (before[i]->text_hash != after[j]->text_hash || before[i]->is_compiled != after[j]->is_compiled) {
      policies_add(report, after[j], "changed");
    } else {
      i++;
      j++;
      continue;
    }
    is_other = true;
    i += order <= 0;
    j += order >= 0;
  }
  return is_other;
}

/// Compares the views, which are sorted.
static void policies_compare_views(struct reload_report *report, const struct policy_set *running,
                                   const struct policy_set *wanted)
{
  int before_count = running != NULL ? running->view_count : 0;
  int after_count = wanted != NULL ? wanted->view_count : 0;
  for (int i = 0, j = 0; i < before_count || j < after_count;) {
    const struct policy_view *before = i < before_count ? &running->views[i] : NULL;
    const struct policy_view *after = j < after_count ? &wanted->views[j] : NULL;
    int order = before == NULL ? 1 : after == NULL ? -1 : strcmp(before->name, after->name);
    const char *what = arena_printf(&report->arena, "view \"%s\"", order <= 0 ? before->name : after->name);
    if (order < 0) {
      reload_report_applied(report, what, "gone");
    } else if (order > 0) {
      reload_report_applied(report, what, arena_printf(&report->arena, "new, of topic \"%s\"", after->from));
    } else if (strcmp(before->from, after->from) != 0) {
      reload_report_applied(report, what, arena_printf(&report->arena, "of topic \"%s\" now", after->from));
    }
    i += order <= 0;
    j += order >= 0;
  }
}

void reload_report_policies(struct reload_report *report, const struct lua_config *running,
                            const struct lua_config *wanted)
{
  const struct policy_set *before = running->policies;
  const struct policy_set *after = wanted->policies;
  bool is_other = policies_compare(report, before, after);
  policies_compare_views(report, before, after);
  if (!is_other && before != NULL && after != NULL && before->hash != after->hash) {
    reload_report_applied(report, "functions", "what stands around them has changed");
  }
}
