// One device: an ATT client that finds the characteristics FFF1 to FFF4 and uses one of them. Vol 3, Part F has the PDUs.
#include "controller.h"

#include <string.h>

// Requests without an answer at a time, for Write Commands: the read after them is answered when all have been taken.
enum { COMMANDS_PER_READ = 64 };

static void ask_for_characteristics(struct controller *c, int i) {
  uint16_t next = c->links[i].next;
  uint8_t request[7] = {0x08, (uint8_t)next, (uint8_t)(next >> 8), 0xFF, 0xFF, 0x03, 0x28};
  controller_send_att(c, i, request, sizeof request);
}

static void read_value(struct controller *c, int i, uint16_t handle) {
  uint8_t request[3] = {0x0A, (uint8_t)handle, (uint8_t)(handle >> 8)};
  c->links[i].is_waiting = true;
  controller_send_att(c, i, request, sizeof request);
}

static void set_ready(struct controller *c, int i) {
  c->links[i].is_ready = true;
  c->ready_links++;
}

void device_connected(struct controller *c, int i) {
  c->links[i].next = 1;
  if (c->discovers) {
    uint8_t request[3] = {0x02, 0x05, 0x02};  // Exchange MTU: 517
    controller_send_att(c, i, request, sizeof request);
  } else {
    ask_for_characteristics(c, i);
  }
}

void device_start(struct controller *c, int i) {
  struct link *link = &c->links[i];
  if (link->is_waiting || c->operations >= c->target) return;
  switch (c->scenario) {
  case READ: read_value(c, i, link->values[0]); break;
  case DYNAMIC: read_value(c, i, link->values[1]); break;
  case WRITE: {
    uint8_t request[23] = {0x12, (uint8_t)link->values[2], (uint8_t)(link->values[2] >> 8)};
    link->is_waiting = true;
    controller_send_att(c, i, request, sizeof request);
    break;
  }
  case COMMAND: {
    uint8_t request[23] = {0x52, (uint8_t)link->values[2], (uint8_t)(link->values[2] >> 8)};
    for (link->commands = 0; link->commands < COMMANDS_PER_READ; link->commands++) {
      controller_send_att(c, i, request, sizeof request);
    }
    read_value(c, i, link->values[0]);
    break;
  }
  case NOTIFICATION: case SCAN: case DISCOVERY: case MEMORY: case PUBLICATION: case LATENCY: case SCENARIOS: break;
  }
}

// A Read By Type Response with characteristic declarations (Vol 3, Part F, 3.4.4.2; Part G, 3.3.1).
static void take_characteristics(struct link *link, const uint8_t *pdu, size_t length) {
  size_t size = pdu[1];
  for (size_t place = 2; size >= 7 && place + size <= length; place += size) {
    const uint8_t *entry = pdu + place;
    link->next = (uint16_t)((entry[0] | entry[1] << 8) + 1);
    if (size == 7 && entry[6] == 0xFF && entry[5] >= 0xF1 && entry[5] <= 0xF5) {
      link->values[entry[5] - 0xF1] = (uint16_t)(entry[3] | entry[4] << 8);
    }
  }
}

static void subscribe(struct controller *c, int i, uint16_t value) {
  // The descriptor follows the value.
  uint16_t handle = (uint16_t)(value + 1);
  uint8_t request[5] = {0x12, (uint8_t)handle, (uint8_t)(handle >> 8), 1, 0};
  controller_send_att(c, i, request, sizeof request);
}

static void take_answer(struct controller *c, int i) {
  struct link *link = &c->links[i];
  link->is_waiting = false;
  c->operations += c->scenario == COMMAND ? link->commands : 1;
  device_start(c, i);
}

// The end of the list of characteristics: every scenario but the notification is ready.
static void finish_discovery(struct controller *c, int i) {
  if (c->scenario == NOTIFICATION) subscribe(c, i, c->links[i].values[3]);
  else if (c->scenario == LATENCY) subscribe(c, i, c->links[i].values[i < c->active ? 3 : 4]);
  else set_ready(c, i);
}

// The discovery of everything: services, characteristics, descriptors.
static void continue_discovery(struct controller *c, int i, const uint8_t *pdu, size_t length) {
  struct link *link = &c->links[i];
  uint16_t last = link->next;
  switch (pdu[0]) {
  case 0x03: link->step = 0; last = 0; break;
  case 0x11: last = (uint16_t)(pdu[length - pdu[1] + 2] | pdu[length - pdu[1] + 3] << 8); break;
  case 0x09: last = (uint16_t)(pdu[length - pdu[1]] | pdu[length - pdu[1] + 1] << 8); break;
  case 0x05: {
    size_t size = pdu[1] == 1 ? 4 : 18;
    last = (uint16_t)(pdu[length - size] | pdu[length - size + 1] << 8);
    break;
  }
  case 0x01: last = 0xFFFF; break;
  default: return;
  }
  link->next = (uint16_t)(last + 1);
  if (last == 0xFFFF) {
    link->step++;
    link->next = 1;
  }
  uint8_t low = (uint8_t)link->next, high = (uint8_t)(link->next >> 8);
  switch (link->step) {
  case 0: controller_send_att(c, i, (uint8_t[]){0x10, low, high, 0xFF, 0xFF, 0x00, 0x28}, 7); break;
  case 1: controller_send_att(c, i, (uint8_t[]){0x08, low, high, 0xFF, 0xFF, 0x03, 0x28}, 7); break;
  case 2: controller_send_att(c, i, (uint8_t[]){0x04, low, high, 0xFF, 0xFF}, 5); break;
  default: set_ready(c, i);
  }
}

void device_received(struct controller *c, int i, const uint8_t *pdu, size_t length) {
  struct link *link = &c->links[i];
  if (length == 0) return;
  if (pdu[0] == 0x02) {  // Exchange MTU Request of the host
    controller_send_att(c, i, (uint8_t[]){0x03, 23, 0}, 3);
  } else if (pdu[0] == 0x1B && c->scenario == LATENCY) {
    latency_received(c, i, pdu, length);
  } else if (pdu[0] == 0x1B) {
    c->operations++;
  } else if (c->discovers) {
    continue_discovery(c, i, pdu, length);
  } else if (!link->is_ready && pdu[0] == 0x09 && length > 2) {
    take_characteristics(link, pdu, length);
    ask_for_characteristics(c, i);
  } else if (!link->is_ready && pdu[0] == 0x01) {
    if (!link->values[0] || !link->values[3]) c->fault = "the host does not have the characteristics FFF1 to FFF4";
    finish_discovery(c, i);
  } else if (!link->is_ready && pdu[0] == 0x13) {
    set_ready(c, i);
  } else if ((pdu[0] == 0x0B || pdu[0] == 0x13) && link->is_waiting) {
    take_answer(c, i);
  } else if (pdu[0] == 0x01) {
    c->fault = "the host rejects a request";
  }
}
