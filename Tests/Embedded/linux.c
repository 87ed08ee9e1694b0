// The board of a program on Linux: the controller is the radio at the TCP port of the variable PORT.
#include "Board/board.h"

#include <arpa/inet.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int controller(void) {
  static int descriptor = -1;
  if (descriptor >= 0) return descriptor;
  const char *port = getenv("PORT");
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(port ? atoi(port) : 0), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  descriptor = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(descriptor, (struct sockaddr *)&address, sizeof address)) {
    perror("connect to the radio at the port of PORT");
    exit(1);
  }
  return descriptor;
}

int32_t board_read(uint8_t *octets, int32_t size, int32_t milliseconds) {
  struct pollfd interest = {.fd = controller(), .events = POLLIN};
  if (poll(&interest, 1, milliseconds) <= 0) return 0;
  ssize_t count = read(interest.fd, octets, size);
  return count <= 0 ? -1 : (int32_t)count;
}

void board_write(const uint8_t *octets, int32_t size) {
  while (size > 0) {
    ssize_t count = write(controller(), octets, size);
    if (count <= 0) exit(1);
    octets += count;
    size -= count;
  }
}

uint64_t board_microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000ull + now.tv_nsec / 1000;
}

void board_log(const uint8_t *text, int32_t size) {
  fwrite(text, 1, size, stdout);
  fflush(stdout);
}

int32_t board_heap(void) { return (int32_t)mallinfo2().uordblks; }
int32_t board_stack(void) { return 0; }
