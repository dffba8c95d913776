// SPDX-License-Identifier: Apache-2.0
//
// Looks into all partitions found, on as many threads as recovery would use: after it nothing that an adoption needs is
// unknown, and nothing has changed yet. Start-up.
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "log/log_manager_private.h"
#include "log/log_survey.h"
#include "os/thread.h"

enum { SURVEY_THREADS_MAX = 16 };

/// The partitions, which several threads look into.
struct survey_list {
  struct log_manager *mgr;   ///< whose
  _Atomic(size_t) next;      ///< the first that no thread has taken
  pthread_mutex_t lock;      ///< guards the two below; order: leaf
  int result;                ///< the first failure
  struct error_detail error; ///< its sentence
};

static int survey_one(struct log_found *found)
{
  char *path = mem_printf("%s/%s-%" PRId32, found->dir, found->topic, found->partition);
  struct log_survey survey;
  int result = log_survey(path, strcmp(found->topic, "__transaction_state") == 0, &survey);
  if (result == 0) {
    found->is_log = survey.is_log;
    found->leader_epoch = survey.leader_epoch;
    found->producer_id = survey.producer_id;
  }
  mem_free(path);
  return result;
}

static void survey_some(struct survey_list *list)
{
  struct log_manager *mgr = list->mgr;
  for (size_t i; (i = atomic_fetch_add(&list->next, 1)) < mgr->found_count;) {
    int result = survey_one(&mgr->found[i]);
    if (result < 0) {
      pthread_mutex_lock(&list->lock);
      if (list->result == 0) {
        list->result = result;
        list->error = *error_last();
      }
      pthread_mutex_unlock(&list->lock);
      atomic_store(&list->next, mgr->found_count);
      return;
    }
  }
}

static void *run_survey(void *arg)
{
  struct epoch_thread epoch = {0};
  epoch_register(&epoch);
  epoch_enter();
  survey_some(arg);
  epoch_leave();
  epoch_unregister();
  return NULL;
}

int log_manager_survey(struct log_manager *mgr)
{
  struct log_identity identity;
  log_manager_identity(mgr, &identity);
  if (identity.offline_dir != NULL) {
    return error_set(ERR_IO,
                     "data directory %s does not work, so that nothing can be adopted: partitions may lie in it",
                     identity.offline_dir);
  }
  struct survey_list list = {.mgr = mgr};
  pthread_mutex_init(&list.lock, NULL);
  pthread_t threads[SURVEY_THREADS_MAX];
  size_t wanted = mgr->dir_count * (size_t)mgr->recovery_threads;
  size_t started = 0;
  while (started + 1 < wanted && started < SURVEY_THREADS_MAX && started + 1 < mgr->found_count &&
         thread_start(&threads[started], "luka-survey", run_survey, &list) == 0) {
    started++;
  }
  survey_some(&list);
  for (size_t i = 0; i < started; i++) {
    pthread_join(threads[i], NULL);
  }
  pthread_mutex_destroy(&list.lock);
  if (list.result < 0) {
    const struct error_detail *error = &list.error;
    return error_record(list.result, 0, error->file, error->line, "%s", error->message);
  }
  return 0;
}
