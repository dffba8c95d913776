// SPDX-License-Identifier: Apache-2.0
#include "api_driver.h"

#include <stdbool.h>
#include <stddef.h>

#include "api/api.h"
#include "base/check.h"
#include "base/list.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "controller/controller_private.h"
#include "metadata/broker_config.h"
#include "metadata/image.h"
#include "metadata/topic_config.h"
#include "network/listener.h"
#include "network/server.h"

enum { DRIVER_DRAIN_MS = 1000 };

struct api_driver {
  struct api api;                ///< what is under test
  struct broker_config config;   ///< defaults
  struct metadata_cache cache;   ///< the cluster
  struct controller *controller; ///< never loaded
  struct event_loop control;     ///< its thread, once released
  struct mail release;           ///< has it answer
  bool is_released;              ///< it does
  struct server *server;         ///< one worker
};

static void driver_make_brokers(struct metadata_draft *draft, int port)
{
  struct metadata_endpoint own = {"PLAINTEXT", "PLAINTEXT", "127.0.0.1", port};
  struct metadata_endpoint second = {"PLAINTEXT", "PLAINTEXT", "other.example", 9092};
  struct metadata_endpoint third = {"INTERNAL", "PLAINTEXT", "third.example", 9093};
  metadata_draft_put_broker(draft, metadata_broker_new(1, 1, NULL, &own, 1));
  metadata_draft_put_broker(draft, metadata_broker_new(2, 2, "r2", &second, 1));
  metadata_draft_put_broker(draft, metadata_broker_new(3, 3, NULL, &third, 1));
}

static void driver_make_topic(struct metadata_draft *draft, const struct topic_config *config)
{
  static const int32_t ONE[] = {1};
  static const int32_t TWO_ONE[] = {2, 1};
  static const int32_t THREE[] = {3};
  static const int32_t NINE_ONE[] = {9, 1};
  static const int32_t ONE_NINE[] = {1, 9};
  const struct metadata_partition_spec parts[] = {
      {1, 5, 0, ONE, 1, ONE, 1},           {2, 6, 0, TWO_ONE, 2, TWO_ONE, 2},
      {3, 7, 0, THREE, 1, THREE, 1},       {METADATA_NO_LEADER, 8, 0, NINE_ONE, 2, NINE_ONE, 1},
      {9, 9, 0, NINE_ONE, 1, NINE_ONE, 1}, {1, 10, 0, ONE_NINE, 2, ONE, 1},
  };
  struct uuid id;
  uuid_random(&id);
  metadata_draft_put_topic(draft,
                           metadata_topic_new("t", &id, 0, parts, sizeof parts / sizeof parts[0], NULL, 0, config));
}

static void driver_publish(struct api_driver *driver)
{
  struct metadata_draft *draft = metadata_draft_new(NULL);
  metadata_draft_set_cluster(draft, "cluster");
  metadata_draft_set_controller(draft, 1, 1);
  driver_make_brokers(draft, api_driver_port(driver));
  driver_make_topic(draft, &driver->config.topic.values);
  struct broker_config *config = NULL;
  char message[CONFIG_MESSAGE_SIZE];
  CHECK(broker_config_overlay(&driver->config, NULL, 0, NULL, 0, &config, message) == 0);
  metadata_draft_set_config(draft, config);
  broker_config_unref(config);
  metadata_cache_publish(&driver->cache, metadata_draft_finish(draft));
}

static bool driver_start(struct api_driver *driver)
{
  struct controller_settings settings = {
      .broker_id = 1, .cache = &driver->cache, .config = &driver->config, .loop = &driver->control};
  struct server_options options = {.workers = 1};
  struct connection_callbacks callbacks;
  if (broker_config_resolve(&driver->config) < 0 || event_loop_create(&driver->control, "control") < 0) {
    return false;
  }
  driver->controller = controller_new(&settings);
  driver->api = (struct api){.broker_id = 1, .metadata = &driver->cache, .controller = driver->controller};
  api_callbacks(&driver->api, &callbacks);
  if (server_new(&options, &callbacks, &driver->server) < 0 || server_bind(driver->server, "127.0.0.1:0", NULL) < 0) {
    return false;
  }
  driver_publish(driver);
  return server_accept(driver->server) == 0;
}

struct api_driver *api_driver_new(void)
{
  struct api_driver *driver = mem_zalloc(sizeof *driver);
  broker_config_create(&driver->config);
  metadata_cache_create(&driver->cache);
  return driver_start(driver) ? driver : NULL;
}

int api_driver_port(const struct api_driver *driver)
{
  return server_listener(driver->server, 0)->address.port;
}

static void driver_resume(struct mail *mail)
{
  struct api_driver *driver = CONTAINER_OF(mail, struct api_driver, release);
  controller_resume(driver->controller, CONTROLLER_FAILED);
}

void api_driver_release(struct api_driver *driver)
{
  if (driver->is_released) {
    return;
  }
  driver->is_released = true;
  driver->release.run = driver_resume;
  event_loop_post(&driver->control, &driver->release);
  event_loop_start(&driver->control);
}

void api_driver_delete(struct api_driver *driver)
{
  api_driver_release(driver);
  server_drain(driver->server, DRIVER_DRAIN_MS);
  event_loop_stop(&driver->control);
  server_delete(driver->server);
  controller_delete(driver->controller);
  event_loop_destroy(&driver->control);
  metadata_cache_destroy(&driver->cache);
  broker_config_destroy(&driver->config);
  mem_free(driver);
}
