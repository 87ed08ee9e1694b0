// The least that a host does on an H4 stream: wait, receive, divide, answer from fixed octets, send. It has no stack: it knows
// the handles of its characteristics FFF1 to FFF4, and as much HCI as being connected or scanning needs.
//
//   h4-bench-floor peripheral|scan|hops|latency SOCKET
//
// With `hops` a read is answered behind two changes of threads: a block on a serial queue of Dispatch, and back by an eventfd. It is
// the least that a delegate on its queue can cost; it has 64 links at most. With `latency` a write of FFF3 is followed by a notification of
// FFF4 with the times, and FFF5 is the characteristic whose values fill the buffers, but for one.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_HANDLE = 0x40, MAX_LINKS = 128, HOP_LINKS = 64, QUEUE = 256 };

static int connection;
static uint8_t input[65536], output[65536];
static size_t input_length, output_length;
static int buffers, subscribers;
static bool is_subscribed[MAX_LINKS];
static bool scans, hops, latency;
// Answers that wait for a buffer of the controller.
static struct { uint8_t packet[32]; size_t length; } queue[QUEUE];
static unsigned first, last;

// Dispatch; its headers are not in the include path of a C target.
typedef struct dispatch_queue_s *dispatch_queue_t;
extern dispatch_queue_t dispatch_queue_create(const char *label, void *attributes);
extern void dispatch_async_f(dispatch_queue_t queue, void *context, void (*work)(void *));

static dispatch_queue_t queue_of_application;
static int wakeup;
// The links whose reads wait for the queue, and those that the loop answers: each has one at most.
static uint64_t answered;

static void hop(void *context) {
  __atomic_fetch_or(&answered, UINT64_C(1) << (uintptr_t)context, __ATOMIC_RELEASE);
  uint64_t one = 1;
  if (write(wakeup, &one, sizeof one) < 0) _exit(1);
}

static uint64_t monotonic_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void put(const uint8_t *octets, size_t length) {
  memcpy(output + output_length, octets, length);
  output_length += length;
}

static void send_att(uint8_t handle, const uint8_t *pdu, uint8_t length) {
  uint8_t packet[32] = {0x02, handle, 0, (uint8_t)(length + 4), 0, length, 0, 0x04, 0x00};
  memcpy(packet + 9, pdu, length);
  if (buffers > 0) {
    buffers--;
    put(packet, 9u + length);
  } else {
    memcpy(queue[last % QUEUE].packet, packet, sizeof packet);
    queue[last++ % QUEUE].length = 9u + length;
  }
}

static void advertise(void) { put((uint8_t[]){0x01, 0x0A, 0x20, 1, 1}, 5); }

// Value handles 3, 5, 7 and 9; one characteristic declaration an answer.
static void answer(uint8_t handle, const uint8_t *pdu) {
  static const uint8_t value[21] = {0x0B, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
  switch (pdu[0]) {
  case 0x0A:
    if (hops && handle - FIRST_HANDLE < HOP_LINKS) dispatch_async_f(queue_of_application, (void *)(uintptr_t)(handle - FIRST_HANDLE), hop);
    else send_att(handle, value, sizeof value);
    break;
  case 0x12:
    if (!latency || pdu[1] == 13) {
      is_subscribed[handle - FIRST_HANDLE] = true;
      subscribers++;
    }
    send_att(handle, (uint8_t[]){0x13}, 1);
    break;
  case 0x52:
    if (latency) {
      uint8_t times[19] = {0x1B, 9, 0};
      for (int i = 0; i < 2; i++) {
        uint64_t now = monotonic_time();
        memcpy(times + 3 + 8 * i, &now, sizeof now);
      }
      send_att(handle, times, sizeof times);
    }
    break;
  case 0x08: {
    uint8_t number = (uint8_t)((pdu[1] + 1) / 2);  // the first declaration is at 2, each takes two handles
    if (latency && number == 5) send_att(handle, (uint8_t[]){0x09, 7, 11, 0, 0x10, 12, 0, 0xF5, 0xFF}, 9);
    else if (number > 4) send_att(handle, (uint8_t[]){0x01, 0x08, pdu[1], pdu[2], 0x0A}, 5);
    else {
      uint8_t declaration = (uint8_t)(2 * number);
      send_att(handle, (uint8_t[]){0x09, 7, declaration, 0, 0x02, (uint8_t)(declaration + 1), 0, (uint8_t)(0xF0 + number), 0xFF}, 9);
    }
  }
  }
}

// Answers the reads that have come back from the queue.
static void take_answers(void) {
  static const uint8_t value[21] = {0x0B};
  uint64_t count;
  if (read(wakeup, &count, sizeof count) < 0) return;
  uint64_t links = __atomic_exchange_n(&answered, 0, __ATOMIC_ACQUIRE);
  for (int link = 0; link < HOP_LINKS; link++) {
    if (links >> link & 1) send_att((uint8_t)(FIRST_HANDLE + link), value, sizeof value);
  }
}

static void take_event(const uint8_t *packet) {
  static int step;
  switch (packet[1]) {
  case 0x0E: {  // Command Complete: the next command of the start
    uint16_t opcode = (uint16_t)(packet[4] | packet[5] << 8);
    if (opcode == 0x2002) buffers = packet[9];
    static const uint8_t commands[][5] = {{0x01, 0x02, 0x20, 0}, {0x01, 0x0A, 0x20, 1, 1}, {0x01, 0x0C, 0x20, 2, 1}};
    if (step == 0) put(commands[0], 4);
    if (step == 1 && !scans) put(commands[1], 5);
    if (step == 1 && scans) put((uint8_t[]){0x01, 0x0C, 0x20, 2, 1, 0}, 6);
    step++;
    break;
  }
  case 0x13:  // Number Of Completed Packets
    for (int i = 0; i < packet[3]; i++) buffers += packet[6 + 4 * i] | packet[7 + 4 * i] << 8;
    while (buffers > 0 && first != last) {
      buffers--;
      put(queue[first % QUEUE].packet, queue[first % QUEUE].length);
      first++;
    }
    break;
  case 0x3E:
    if (packet[3] == 0x01) advertise();
    if (packet[3] == 0x02 && packet[14] == 2 && packet[32] == 0xFF) put((uint8_t[]){0x01, 0x0C, 0x20, 2, 0, 0}, 6);
  }
}

static void notify(void) {
  static uint8_t value[23] = {0x1B, 9, 0};
  static int turn;
  if (latency) value[1] = 12;
  while (subscribers > 0 && buffers > (latency ? 1 : 0) && output_length < 32768) {
    while (!is_subscribed[turn]) turn = (turn + 1) % MAX_LINKS;
    value[3]++;
    send_att((uint8_t)(FIRST_HANDLE + turn), value, sizeof value);
    turn = (turn + 1) % MAX_LINKS;
  }
}

static void divide(void) {
  size_t start = 0;
  while (input_length - start >= 5) {
    const uint8_t *packet = input + start;
    size_t length = packet[0] == 0x04 ? 3u + packet[2] : 5u + (size_t)(packet[3] | packet[4] << 8);
    if (input_length - start < length) break;
    if (packet[0] == 0x04) take_event(packet);
    else answer(packet[1], packet + 9);
    start += length;
  }
  memmove(input, input + start, input_length - start);
  input_length -= start;
}

int main(int count, char **arguments) {
  if (count != 3) return 64;
  scans = strcmp(arguments[1], "scan") == 0;
  hops = strcmp(arguments[1], "hops") == 0;
  latency = strcmp(arguments[1], "latency") == 0;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, arguments[2], sizeof address.sun_path - 1);
  connection = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(connection, (struct sockaddr *)&address, sizeof address) < 0) return 1;
  int poll = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = connection};
  epoll_ctl(poll, EPOLL_CTL_ADD, connection, &event);
  if (hops) {
    queue_of_application = dispatch_queue_create("application", NULL);
    wakeup = eventfd(0, EFD_NONBLOCK);
    struct epoll_event answers = {.events = EPOLLIN, .data.fd = wakeup};
    epoll_ctl(poll, EPOLL_CTL_ADD, wakeup, &answers);
  }
  put((uint8_t[]){0x01, 0x03, 0x0C, 0}, 4);  // Reset
  for (;;) {
    notify();
    if (output_length && send(connection, output, output_length, 0) < 0) return 0;
    output_length = 0;
    if (epoll_wait(poll, &event, 1, -1) < 0) continue;
    if (hops && event.data.fd == wakeup) {
      take_answers();
      continue;
    }
    ssize_t received = recv(connection, input + input_length, sizeof input - input_length, MSG_DONTWAIT);
    if (received == 0) return 0;
    if (received > 0) input_length += (size_t)received;
    divide();
  }
}
