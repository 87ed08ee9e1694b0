#include "controller.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void put(struct controller *c, const uint8_t *octets, size_t length) {
  if (c->output_length + length > sizeof c->output) {
    c->fault = "the host does not read";
    return;
  }
  memcpy(c->output + c->output_length, octets, length);
  c->output_length += length;
}

static void put_event(struct controller *c, uint8_t code, const uint8_t *parameters, uint8_t length) {
  uint8_t head[3] = {0x04, code, length};
  put(c, head, sizeof head);
  put(c, parameters, length);
}

static void complete(struct controller *c, uint16_t opcode, const uint8_t *values, size_t length) {
  // One command at a time, status Success, return parameters.
  uint8_t event[80] = {1, (uint8_t)opcode, (uint8_t)(opcode >> 8), 0};
  if (length) memcpy(event + 4, values, length);
  put_event(c, 0x0E, event, (uint8_t)(4 + length));
}

// Return parameters of the commands that read something, without the status.
static size_t answer(struct controller *c, uint16_t opcode, uint8_t *values) {
  static const uint8_t address[6] = {0x01, 0x02, 0x03, 0x04, 0x05, 0xC6};
  uint8_t length = (uint8_t)c->packet_length, high = (uint8_t)(c->packet_length >> 8);
  switch (opcode) {
  case 0x1001: memcpy(values, (uint8_t[]){9, 0, 0, 9, 0xFF, 0xFF, 0, 0}, 8); return 8;
  case 0x1002: values[14] = 0x80; values[25] = 0x02; return 64;     // of the optional commands those that read the buffers
  case 0x1003: values[4] = 0x60; return 8;                         // LE, no BR/EDR
  case 0x1005: values[0] = length; values[1] = high; values[3] = (uint8_t)c->buffers; return 7;
  case 0x1009: memcpy(values, address, 6); return 6;
  case 0x2002: values[0] = length; values[1] = high; values[2] = (uint8_t)c->buffers; return 3;
  case 0x2003: values[0] = 0x01; return 8;                         // encryption
  case 0x2007: return 1;
  case 0x200F: case 0x202A: values[0] = 8; return 1;
  case 0x2017: return 16;
  case 0x2018: for (int i = 0; i < 8; i++) values[i] = (uint8_t)(17 * i + 3); return 8;
  case 0x201C: memset(values, 0xFF, 8); return 8;
  case 0x2023: values[0] = 27; values[2] = 0x48; values[3] = 1; return 4;
  case 0x202F: values[0] = 251; values[4] = 251; return 8;
  default: return 0;
  }
}

static void connect_next(struct controller *c) {
  if (!c->connects || !c->advertising) return;
  for (int i = 0; i < c->link_count; i++) {
    if (c->links[i].is_up) continue;
    c->links[i].is_up = true;
    c->advertising = false;
    // LE Connection Complete: role Peripheral, a public address, 30 ms, no latency, 5 s.
    uint8_t event[19] = {0x01, 0, (uint8_t)(FIRST_HANDLE + i), 0, 1, 0, (uint8_t)i, 2, 3, 4, 5, 6, 24, 0, 0, 0, 0xF4, 1, 0};
    put_event(c, 0x3E, event, sizeof event);
    device_connected(c, i);
    return;
  }
}

static void take_command(struct controller *c, const uint8_t *packet) {
  uint16_t opcode = (uint16_t)(packet[1] | packet[2] << 8);
  uint8_t values[64] = {0};
  if (opcode == 0x0406 || opcode == 0x2016 || opcode == 0x2013) {
    uint8_t status[4] = {0, 1, (uint8_t)opcode, (uint8_t)(opcode >> 8)};
    put_event(c, 0x0F, status, sizeof status);
    return;
  }
  complete(c, opcode, values, answer(c, opcode, values));
  if (opcode == 0x200A) {
    c->advertising = packet[4] != 0;
    connect_next(c);
  }
  if (opcode == 0x200C) c->scanning = packet[4] != 0;
}

static void take_data(struct controller *c, const uint8_t *packet, size_t length) {
  int i = ((packet[1] | packet[2] << 8) & 0x0FFF) - FIRST_HANDLE;
  if (i < 0 || i >= c->link_count) {
    c->fault = "data of a link that does not exist";
    return;
  }
  struct link *link = &c->links[i];
  c->completed[i]++;
  if ((packet[2] >> 4 & 3) != 1) link->length = 0;
  size_t count = length - 5;
  if (count > c->packet_length || link->length + count > sizeof link->frame) {
    c->fault = "a packet that exceeds the buffers";
    return;
  }
  memcpy(link->frame + link->length, packet + 5, count);
  link->length += count;
  if (link->length < 4) return;
  size_t payload = (size_t)(link->frame[0] | link->frame[1] << 8);
  if (link->length < payload + 4) return;
  if (link->frame[2] == 4) device_received(c, i, link->frame + 4, payload);
  link->length = 0;
}

// So many handles fit into the parameters of an event.
enum { HANDLES_PER_EVENT = 63 };

void controller_report_completed(struct controller *c) {
  uint8_t event[1 + 4 * HANDLES_PER_EVENT];
  int count = 0;
  for (int i = 0; i < c->link_count; i++) {
    if (!c->completed[i]) continue;
    if (count == HANDLES_PER_EVENT) {
      event[0] = (uint8_t)count;
      put_event(c, 0x13, event, (uint8_t)(1 + 4 * count));
      count = 0;
    }
    uint8_t *entry = event + 1 + 4 * count++;
    entry[0] = (uint8_t)(FIRST_HANDLE + i);
    entry[1] = 0;
    entry[2] = (uint8_t)c->completed[i];
    entry[3] = (uint8_t)(c->completed[i] >> 8);
    c->completed[i] = 0;
  }
  event[0] = (uint8_t)count;
  if (count) put_event(c, 0x13, event, (uint8_t)(1 + 4 * count));
}

bool controller_receive(struct controller *c) {
  ssize_t count = recv(c->descriptor, c->input + c->input_length, sizeof c->input - c->input_length, MSG_DONTWAIT);
  if (c->scenario == LATENCY) c->received_at = latency_now();
  if (count == 0) return false;
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  c->input_length += (size_t)count;
  size_t start = 0;
  while (c->input_length - start >= 4) {
    const uint8_t *packet = c->input + start;
    size_t length;
    if (packet[0] == 0x01) length = 4 + (size_t)packet[3];
    else if (packet[0] == 0x02 && c->input_length - start >= 5) length = 5 + (size_t)(packet[3] | packet[4] << 8);
    else if (packet[0] == 0x02) break;
    else {
      c->fault = "a packet that a host does not send";
      return true;
    }
    if (c->input_length - start < length) break;
    if (packet[0] == 0x01) take_command(c, packet);
    else take_data(c, packet, length);
    start += length;
  }
  memmove(c->input, c->input + start, c->input_length - start);
  c->input_length -= start;
  // One event for all that one read of the socket brought.
  if (!c->keeps_completed) controller_report_completed(c);
  return true;
}

void controller_flush(struct controller *c) {
  if (!c->output_length) return;
  ssize_t count = send(c->descriptor, c->output, c->output_length, MSG_DONTWAIT);
  if (count <= 0) return;
  memmove(c->output, c->output + count, c->output_length - (size_t)count);
  c->output_length -= (size_t)count;
}

void controller_send_att(struct controller *c, int link, const uint8_t *pdu, size_t length) {
  uint8_t head[9] = {0x02, (uint8_t)(FIRST_HANDLE + link), 0x20, (uint8_t)(length + 4), (uint8_t)((length + 4) >> 8),
                     (uint8_t)length, (uint8_t)(length >> 8), 0x04, 0x00};
  put(c, head, sizeof head);
  put(c, pdu, length);
}

void controller_send_reports(struct controller *c) {
  while (!c->reports_sent && c->output_length < 2048) {
    bool is_marker = c->reports == c->target;
    if (is_marker && c->reports < c->last_report) return;
    // LE Advertising Report: one report of a non-connectable, non-scannable advertiser with 31 octets of data.
    long number = c->reports % c->advertisers;
    uint8_t event[12 + 31] = {0x02, 1, 3, 0, (uint8_t)number, (uint8_t)(number >> 8), (uint8_t)(number >> 16), 3, 4, 5, 31};
    uint8_t *data = event + 11;
    memcpy(data, (uint8_t[]){2, 1, 6, 3, 3, 0x0D, 0x18, 8, 9, 'b', 'e', 'n', 'c', 'h', '0', '0'}, 16);
    data[16] = 14;
    data[17] = 0xFF;
    memset(data + 18, is_marker ? 0xFF : 0x11, 13);
    if (c->changes && !is_marker) memcpy(data + 20, &(uint32_t){(uint32_t)c->reports}, 4);
    if (is_marker) event[9] = 6;
    event[42] = (uint8_t)-60;
    put_event(c, 0x3E, event, sizeof event);
    if (is_marker) c->reports_sent = true;
    else c->reports++;
  }
}

bool controller_is_advertising(struct controller *c) { return c->advertising; }

void controller_connect_links(struct controller *c) {
  c->connects = true;
  connect_next(c);
}

void controller_start_operations(struct controller *c) {
  int active = c->active ? c->active : c->link_count;
  for (int i = 0; i < active; i++) device_start(c, i);
}

bool controller_set_scenario(struct controller *c, const char *name) {
  c->changes = strcmp(name, "scan-changing") == 0;
  if (c->changes) name = "scan";
  static const char *names[] = {"read", "dynamic", "write", "command", "notification", "scan", "discovery", "memory", "publication", "latency"};
  for (int i = 0; i < SCENARIOS; i++) {
    if (strcmp(name, names[i]) == 0) {
      c->scenario = (enum scenario)i;
      c->discovers = c->scenario == DISCOVERY || c->scenario == PUBLICATION;
      return true;
    }
  }
  return false;
}
