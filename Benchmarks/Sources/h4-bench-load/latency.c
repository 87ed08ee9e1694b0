// The latency of a host: from the packet of the controller to the program's handler, and from the program's call to the packet at the
// controller. Each active device writes to FFF3 without response. The handler sends a notification of FFF4 with two times: when it was
// called, and when it sent. The other devices subscribe to FFF5, whose values the program sends as fast as the stack takes them.
//
// The buffers of the controller are free again at the connection events, one each INTERVAL for all links.
#define _GNU_SOURCE
#include "controller.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INTERVAL = 7500000, PAUSE = 8000000, PATIENCE = 2000000000 };

static struct {
  uint64_t *arrivals, *departures;
  long count, wanted, flood;
  // When each link writes next, or has written.
  uint64_t due[MAX_LINKS];
  bool is_waiting[MAX_LINKS];
  uint32_t random;
} run;

uint64_t latency_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

// 8 to 24 milliseconds, and as many times longer as there are more than four active devices: the writes have no fixed place between the
// connection events, of which each link has one between two of its writes, and the buffers of the controller suffice for all.
static uint64_t next_pause(const struct controller *c) {
  run.random = run.random * 1664525u + 1013904223u;
  return (uint64_t)(c->active > 4 ? c->active / 4 : 1) * (PAUSE + run.random / (UINT32_MAX / (2 * PAUSE)));
}

void latency_received(struct controller *c, int i, const uint8_t *pdu, size_t length) {
  uint64_t called, sent;
  if (pdu[1] != (uint8_t)c->links[i].values[3]) {
    run.flood++;
    return;
  }
  if (length < 3 + 2 * sizeof called || !run.is_waiting[i]) {
    c->fault = "a notification without the two times, or without a write";
    return;
  }
  memcpy(&called, pdu + 3, sizeof called);
  memcpy(&sent, pdu + 3 + sizeof called, sizeof sent);
  if (run.count < run.wanted) {
    run.arrivals[run.count] = called - run.due[i];
    run.departures[run.count++] = c->received_at - sent;
  }
  run.is_waiting[i] = false;
  run.due[i] = latency_now() + next_pause(c);
}

static int compare(const void *a, const void *b) {
  uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
  return (left > right) - (left < right);
}

static void print(const char *name, uint64_t *times) {
  qsort(times, (size_t)run.count, sizeof *times, compare);
  printf("%s %.1f %.1f %.1f ", name, (double)times[run.count / 2] / 1e3, (double)times[run.count * 99 / 100] / 1e3,
         (double)times[run.count - 1] / 1e3);
}

// Prints median, 99th percentile and maximum of both directions in microseconds, and the values of the flood in a second.
bool latency_measure(struct controller *c, long count) {
  run.arrivals = calloc((size_t)count, sizeof *run.arrivals);
  run.departures = calloc((size_t)count, sizeof *run.departures);
  if (!run.arrivals || !run.departures) return false;
  // The first tenth is not counted.
  uint64_t start = 0, event = latency_now() + INTERVAL;
  for (int i = 0; i < c->active; i++) run.due[i] = latency_now() + next_pause(c);
  run.wanted = count / 10;
  while (run.count < run.wanted) {
    uint64_t now = latency_now(), next = event;
    if (now >= event) {
      controller_report_completed(c);
      event += INTERVAL;
      next = event;
    }
    for (int i = 0; i < c->active; i++) {
      if (run.is_waiting[i] && now > run.due[i] + PATIENCE) c->fault = "a write has no notification";
      if (run.is_waiting[i]) continue;
      if (run.due[i] <= now) {
        uint8_t request[11] = {0x52, (uint8_t)c->links[i].values[2], (uint8_t)(c->links[i].values[2] >> 8)};
        run.is_waiting[i] = true;
        controller_send_att(c, i, request, sizeof request);
        run.due[i] = latency_now();
        controller_flush(c);
      } else if (run.due[i] < next) {
        next = run.due[i];
      }
    }
    controller_flush(c);
    now = latency_now();
    struct timespec timeout = {.tv_nsec = next > now ? (long)(next - now) : 0};
    struct pollfd wait = {.fd = c->descriptor, .events = POLLIN};
    if (ppoll(&wait, 1, &timeout, NULL) > 0 && !controller_receive(c)) c->fault = "the host closed the connection";
    if (c->fault) return false;
    if (start == 0 && run.count == run.wanted) {
      run.count = run.flood = 0;
      run.wanted = count;
      start = latency_now();
    }
  }
  double seconds = (double)(latency_now() - start) / 1e9;
  print("in", run.arrivals);
  print("out", run.departures);
  printf("flood %.0f\n", (double)run.flood / seconds);
  return true;
}
