// SPDX-License-Identifier: Apache-2.0
#include "network/listener.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/error.h"
#include "os/socket.h"

static const char *const listener_later[] = {"SSL", "SASL_PLAINTEXT", "SASL_SSL"};

/// Takes "NAME://" off the front of an address.
static int listener_parse_name(const char *text, const char **rest, char name[LISTENER_NAME_SIZE])
{
  const char *colon = strstr(text, "://");
  if (colon == NULL) {
    snprintf(name, LISTENER_NAME_SIZE, "PLAINTEXT");
    *rest = text;
    return 0;
  }
  size_t length = (size_t)(colon - text);
  for (size_t i = 0; i < sizeof listener_later / sizeof listener_later[0]; i++) {
    if (strlen(listener_later[i]) == length && strncasecmp(text, listener_later[i], length) == 0) {
      return error_set(ERR_CONFIG, "listener '%.100s': %s is not supported yet, only PLAINTEXT is", text,
                       listener_later[i]);
    }
  }
  if (length != strlen("PLAINTEXT") || strncasecmp(text, "PLAINTEXT", length) != 0) {
    return error_set(ERR_CONFIG, "listener '%.100s': unknown protocol, write PLAINTEXT://host:port or host:port", text);
  }
  snprintf(name, LISTENER_NAME_SIZE, "PLAINTEXT");
  *rest = colon + 3;
  return 0;
}

static int listener_parse_port(const char *text, const char *digits, uint16_t *port)
{
  long value = 0;
  size_t count = strlen(digits);
  for (size_t i = 0; i < count && value <= 65535; i++) {
    if (!isdigit((unsigned char)digits[i])) {
      value = -1;
      break;
    }
    value = 10 * value + (digits[i] - '0');
  }
  if (count == 0 || value < 0 || value > 65535) {
    return error_set(ERR_CONFIG, "listener '%.100s': the port is a number from 0 to 65535, write host:port", text);
  }
  *port = (uint16_t)value;
  return 0;
}

/// A host may be a name (letters, digits, - . _), an IPv4 address, or, in brackets, an IPv6 one.
static int listener_parse_host(const char *text, const char *host, size_t length, bool in_brackets)
{
  if (length >= LISTENER_HOST_SIZE) {
    return error_set(ERR_CONFIG, "listener '%.40s...': the host name is longer than %d characters", text,
                     LISTENER_HOST_SIZE - 1);
  }
  bool is_fine = !in_brackets || memchr(host, ':', length) != NULL;
  for (size_t i = 0; i < length && is_fine; i++) {
    unsigned char byte = (unsigned char)host[i];
    is_fine =
        isalnum(byte) || byte == '.' || byte == '-' || byte == '_' || (in_brackets && (byte == ':' || byte == '%'));
  }
  if (!is_fine && !in_brackets && memchr(host, ':', length) != NULL) {
    return error_set(ERR_CONFIG, "listener '%.100s': write an IPv6 address in brackets, [::1]:9092", text);
  }
  if (!is_fine) {
    return error_set(ERR_CONFIG, "listener '%.100s': not a host name or address, write host:port", text);
  }
  return 0;
}

int listener_parse(const char *text, struct listener_address *address)
{
  struct listener_address parsed = {0};
  const char *rest = NULL;
  TRY(listener_parse_name(text, &rest, parsed.name));
  const char *host = rest;
  const char *host_end;
  const char *colon;
  bool in_brackets = rest[0] == '[';
  if (in_brackets) {
    host = rest + 1;
    host_end = strchr(host, ']');
    if (host_end == NULL) {
      return error_set(ERR_CONFIG, "listener '%.100s': the bracket is not closed, write [::1]:9092", text);
    }
    colon = host_end + 1;
    if (*colon != ':') {
      return error_set(ERR_CONFIG, "listener '%.100s' has no port, write [::1]:9092", text);
    }
  } else {
    colon = strrchr(rest, ':');
    if (colon == NULL) {
      return error_set(ERR_CONFIG, "listener '%.100s' has no port, write host:port", text);
    }
    host_end = colon;
  }
  TRY(listener_parse_port(text, colon + 1, &parsed.port));
  size_t length = (size_t)(host_end - host);
  TRY(listener_parse_host(text, host, length, in_brackets));
  memcpy(parsed.host, host, length);
  *address = parsed;
  return 0;
}

bool listener_is_wildcard(const char *host)
{
  return socket_is_wildcard(host);
}

int listener_parse_advertised(const char *text, struct listener_address *address)
{
  struct listener_address parsed;
  TRY(listener_parse(text, &parsed));
  if (listener_is_wildcard(parsed.host)) {
    return error_set(ERR_CONFIG,
                     "'%.100s' cannot be advertised: clients cannot connect to %s; write the name or address by which "
                     "they reach this machine",
                     text, parsed.host[0] == '\0' ? "an empty host" : parsed.host);
  }
  *address = parsed;
  return 0;
}

int listener_create(struct listener *listener, int index, const char *text, const char *advertised)
{
  struct listener made = {.index = index, .fd = -1};
  TRY(listener_parse(text, &made.address));
  if (advertised != NULL) {
    TRY(listener_parse_advertised(advertised, &made.advertised));
    if (strcmp(made.advertised.name, made.address.name) != 0) {
      return error_set(ERR_CONFIG, "'%.100s' cannot be advertised for the %s listener '%.100s'", advertised,
                       made.address.name, text);
    }
  } else {
    made.advertised = made.address;
    if (listener_is_wildcard(made.address.host)) {
      socket_host_name(made.advertised.host, sizeof made.advertised.host);
    }
  }
  *listener = made;
  return 0;
}

int listener_bind(struct listener *listener)
{
  uint16_t port = 0;
  TRY(socket_bind(listener->address.host, listener->address.port, &listener->fd, &port));
  listener->address.port = port;
  if (listener->advertised.port == 0) {
    listener->advertised.port = port;
  }
  return 0;
}

int listener_listen(struct listener *listener, int backlog)
{
  int result = socket_listen(listener->fd, backlog);
  if (result == ERR_BUSY) {
    return error_set(ERR_BUSY, "port %u of %s is in use", listener->address.port,
                     listener->address.host[0] == '\0' ? "all interfaces" : listener->address.host);
  }
  return result;
}

void listener_destroy(struct listener *listener)
{
  if (listener->fd >= 0) {
    close(listener->fd);
    listener->fd = -1;
  }
}

void listener_format(const struct listener_address *address, char text[LISTENER_ADDRESS_SIZE])
{
  bool is_ipv6 = strchr(address->host, ':') != NULL;
  snprintf(text, LISTENER_ADDRESS_SIZE, "%s://%s%s%s:%u", address->name, is_ipv6 ? "[" : "", address->host,
           is_ipv6 ? "]" : "", address->port);
}
