// A Bluetooth LE controller of the benchmark, with the devices around it. Vol 4, Part E has the commands and events.
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MAX_LINKS = 128, FIRST_HANDLE = 0x40 };
enum scenario { READ, DYNAMIC, WRITE, COMMAND, NOTIFICATION, SCAN, DISCOVERY, MEMORY, PUBLICATION, LATENCY, SCENARIOS };

// One device that is connected to the host as a central.
struct link {
  bool is_up, is_ready, is_waiting;
  // Discovery of the characteristics: the next handle, and the value handles of FFF1 to FFF5.
  uint16_t next, values[5];
  int step;
  // The L2CAP frame that is being received.
  uint8_t frame[600];
  size_t length;
  // Write Commands since the last read.
  int commands;
};

struct controller {
  int descriptor;
  enum scenario scenario;
  // Whether the devices discover everything: services, characteristics and descriptors.
  bool discovers;
  // Whether each advertisement of a scan has other data.
  bool changes;
  int link_count, active, ready_links;
  uint16_t packet_length, buffers;
  bool advertising, connects, scanning, reports_sent;
  // Whether the caller reports completed packets, as in LATENCY.
  bool keeps_completed;
  // Operations so far, and those at which to stop.
  long operations, target, reports;
  // The number of devices that advertise in a scan, in turn, and of their reports; the marker follows the last one.
  long advertisers, last_report;
  // When the last packets were received (CLOCK_MONOTONIC, nanoseconds).
  uint64_t received_at;
  const char *fault;
  struct link links[MAX_LINKS];
  uint16_t completed[MAX_LINKS];
  uint8_t input[65536], output[524288];
  size_t input_length, output_length;
};

bool controller_set_scenario(struct controller *c, const char *name);
bool controller_is_advertising(struct controller *c);
// Connects a device each time the host advertises.
void controller_connect_links(struct controller *c);
// Lets each active device send its next request.
void controller_start_operations(struct controller *c);
// Adds advertising reports to the output, as far as there is room; the marker is the last.
void controller_send_reports(struct controller *c);
bool controller_receive(struct controller *c);
// Number Of Completed Packets events for all packets that were received.
void controller_report_completed(struct controller *c);
void controller_flush(struct controller *c);

// rest.c
bool host_is_at_rest(pid_t host);

// latency.c
uint64_t latency_now(void);
bool latency_measure(struct controller *c, long count);
void latency_received(struct controller *c, int link, const uint8_t *pdu, size_t length);

// device.c
void device_connected(struct controller *c, int link);
void device_received(struct controller *c, int link, const uint8_t *pdu, size_t length);
void device_start(struct controller *c, int link);
void controller_send_att(struct controller *c, int link, const uint8_t *pdu, size_t length);
