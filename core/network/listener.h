// SPDX-License-Identifier: Apache-2.0
//
// Listeners: the addresses a broker listens on and the ones it tells clients to use. Text is "host:port",
// "PLAINTEXT://host:port", "[::1]:9092" or ":9092"; an empty host, 0.0.0.0 and :: mean all interfaces, port 0 a free
// one. Set up on the main thread before workers run; read by any thread after that.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
  LISTENER_HOST_SIZE = 256,   ///< longest host name, with its NUL
  LISTENER_NAME_SIZE = 32,    ///< longest listener name, with its NUL
  LISTENER_ADDRESS_SIZE = 300 ///< "name://[host]:port" with its NUL
};

/// A parsed address.
struct listener_address {
  char name[LISTENER_NAME_SIZE]; ///< listener name, "PLAINTEXT" unless the text says otherwise
  char host[LISTENER_HOST_SIZE]; ///< name or numeric address without brackets; "" for all interfaces
  uint16_t port;                 ///< 0: any
};

/// One listening socket.
struct listener {
  int index;                          ///< its place in the configuration, from 0
  struct listener_address address;    ///< what it listens on; the port is the real one once bound
  struct listener_address advertised; ///< what clients are told; host never empty nor all interfaces, port never 0
  int fd;                             ///< the socket, -1 before listener_bind()
};

/// Parses an address to listen on.
///
/// @return 0, ERR_CONFIG with a sentence that says what to write (also for SSL and SASL, which are not supported yet)
int listener_parse(const char *text, struct listener_address *address);

/// Parses an address for clients; port 0 stands for the listener's own.
///
/// @return 0, ERR_CONFIG (also for an empty host, 0.0.0.0 and ::)
int listener_parse_advertised(const char *text, struct listener_address *address);

/// True for "", 0.0.0.0, :: and other spellings of all interfaces.
bool listener_is_wildcard(const char *host);

/// Prepares a listener in caller's memory.
///
/// With no advertised address the listen host is advertised, and where that is all interfaces the machine's canonical
/// host name, as Kafka does; "localhost" when that name does not resolve.
///
/// @param advertised  text, or NULL
int listener_create(struct listener *listener, int index, const char *text, const char *advertised);

/// Binds the socket; nobody can connect yet.
///
/// @return 0, ERR_BUSY (port in use), ERR_PERMISSION, ERR_NOT_FOUND (host unknown), ERR_IO ...
int listener_bind(struct listener *listener);

/// Lets clients connect.
int listener_listen(struct listener *listener, int backlog);

/// Closes the socket.
void listener_destroy(struct listener *listener);

/// Writes "PLAINTEXT://host:port", with brackets around IPv6 addresses.
void listener_format(const struct listener_address *address, char text[LISTENER_ADDRESS_SIZE]);
