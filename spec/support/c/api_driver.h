// SPDX-License-Identifier: Apache-2.0
//
// The protocol's front desk over a cluster that one broker cannot be: brokers 1 (this one), 2 (other.example:9092, rack
// "r2"), 3 (on no listener of ours), and a topic "t" with these partitions:
//
//   number  leader  epoch  replicas  in sync
//   0       1       5      1         1
//   1       2       6      2, 1      2, 1
//   2       3       7      3         3
//   3       none    8      9, 1      9        broker 9 is not registered
//   4       9       9      9         9
//   5       1       10     1, 9      1
//
// Its controller does not answer until it is told to, and then that it is none.
#pragma once

struct api_driver;

/// Starts it with one worker; NULL when it does not start. Owned: api_driver_delete().
struct api_driver *api_driver_new(void);

/// The port of 127.0.0.1 that it listens on.
int api_driver_port(const struct api_driver *driver);

/// Has the controller answer all that it was asked, and what it is asked from now on, with NOT_CONTROLLER.
void api_driver_release(struct api_driver *driver);

/// Releases, stops and frees it.
void api_driver_delete(struct api_driver *driver);
