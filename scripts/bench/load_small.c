// SPDX-License-Identifier: Apache-2.0
//
// The smallest roles of the load generator: round trips of ApiVersions, the request that costs a broker nothing but its
// network; and bytes that `limit send` gives, received like the answers to Fetch and discarded.
#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"
#include "load_client.h"
#include "load_worker.h"
#include "wire/api_versions.h"
#include "wire/apis.h"
#include "wire/error_codes.h"
#include "wire/header.h"
#include "wire/reader.h"

enum { HEADER_IN_PREFIX = 8 };

static void fail(struct load_worker *worker)
{
  worker->error = error_last()->code;
  snprintf(worker->why, sizeof worker->why, "%s", error_last()->message);
}

/// The state of a connection is its request, which never changes.
static void api_versions_open(struct load_connection *connection)
{
  struct wire_writer *writer = mem_zalloc(sizeof *writer);
  connection->state = writer;
  struct wire_request_header header;
  wire_request_header_init(&header);
  header.client_id = wire_string_from("load");
  struct wire_api_versions_request request;
  wire_api_versions_request_init(&request);
  request.client_software_name = wire_string_from("load");
  request.client_software_version = wire_string_from("1");
  int16_t version = wire_request_header_version(WIRE_API_API_VERSIONS, LOAD_VERSION_API_VERSIONS);
  if (wire_request_header_write(&header, writer, version) < 0 ||
      wire_api_versions_request_write(&request, writer, LOAD_VERSION_API_VERSIONS) < 0) {
    fail(connection->worker);
  }
}

static void api_versions_close(struct load_connection *connection)
{
  wire_writer_destroy(connection->state);
  mem_free(connection->state);
}

static bool api_versions_prepare(struct load_connection *connection, struct load_slot *slot)
{
  const struct wire_writer *writer = connection->state;
  slot->body = writer->data + HEADER_IN_PREFIX;
  slot->body_size = writer->size - HEADER_IN_PREFIX;
  return true;
}

/// Only the error code is looked at: what the answer lists is for the specs of the broker.
static int api_versions_answered(struct load_connection *connection, struct load_slot *slot, const uint8_t *bytes,
                                 size_t size)
{
  (void)slot;
  struct load_worker *worker = connection->worker;
  struct wire_reader reader;
  struct wire_response_header header;
  int16_t version = wire_response_header_version(WIRE_API_API_VERSIONS, LOAD_VERSION_API_VERSIONS);
  wire_reader_init(&reader, bytes, size);
  TRY(wire_response_header_read(&header, &reader, version, &worker->arena));
  int16_t code = wire_reader_i16(&reader, "ApiVersionsResponse.ErrorCode");
  TRY(reader.error);
  if (code != WIRE_NONE) {
    load_count_error(&worker->counts, "api_versions: %s", wire_error_name(code));
  }
  return 0;
}

const struct load_role load_api_versions_role = {
    .key = WIRE_API_API_VERSIONS,
    .version = LOAD_VERSION_API_VERSIONS,
    .open = api_versions_open,
    .close = api_versions_close,
    .prepare = api_versions_prepare,
    .answered = api_versions_answered,
};

/// Requests are a prefix alone, and have no state.
static void raw_fetch_open(struct load_connection *connection)
{
  (void)connection;
}

static bool raw_fetch_prepare(struct load_connection *connection, struct load_slot *slot)
{
  (void)connection;
  slot->body = NULL;
  slot->body_size = 0;
  return true;
}

static int raw_fetch_answered(struct load_connection *connection, struct load_slot *slot, const uint8_t *bytes,
                              size_t size)
{
  (void)slot;
  (void)bytes;
  connection->worker->counts.bytes += (int64_t)size - 4;
  return 0;
}

const struct load_role load_raw_fetch_role = {
    .key = WIRE_API_FETCH,
    .version = LOAD_VERSION_FETCH,
    .open = raw_fetch_open,
    .prepare = raw_fetch_prepare,
    .answered = raw_fetch_answered,
};
