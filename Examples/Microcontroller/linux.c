// The board of a process on Linux: the controller is at the TCP port of the variable PORT on this computer, the console is
// the terminal, and the flash is the file of the variable FLASH.
#include "flash.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int console = STDIN_FILENO;

static _Noreturn void fail(const char *what) {
  perror(what);
  exit(1);
}

static int controller(void) {
  static int descriptor = -1;
  if (descriptor >= 0) return descriptor;
  const char *port = getenv("PORT");
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(port ? atoi(port) : 6402), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  descriptor = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(descriptor, (struct sockaddr *)&address, sizeof address)) fail("connect to the radio at the port of PORT");
  return descriptor;
}

int32_t board_read(uint8_t *octets, int32_t size) {
  struct pollfd interest = {.fd = controller(), .events = POLLIN};
  if (poll(&interest, 1, 0) <= 0) return 0;
  ssize_t count = read(interest.fd, octets, size);
  return count <= 0 ? -1 : (int32_t)count;
}

void board_write(const uint8_t *octets, int32_t size) {
  while (size > 0) {
    ssize_t count = send(controller(), octets, size, MSG_NOSIGNAL);
    // board_read says that the controller is gone.
    if (count <= 0) return;
    octets += count;
    size -= count;
  }
}

uint64_t board_microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000ull + now.tv_nsec / 1000;
}

void board_wait(uint64_t deadline) {
  struct pollfd interests[] = {{.fd = controller(), .events = POLLIN}, {.fd = console, .events = POLLIN}};
  uint64_t now = board_microseconds();
  if (deadline <= now) return;
  uint64_t milliseconds = (deadline - now + 999) / 1000;
  poll(interests, 2, milliseconds < 60000 ? (int)milliseconds : 60000);
}

void board_log(const uint8_t *text, int32_t size) {
  fwrite(text, 1, size, stdout);
  fflush(stdout);
}

int32_t board_key(void) {
  struct pollfd interest = {.fd = console, .events = POLLIN};
  if (poll(&interest, 1, 0) <= 0) return -1;
  uint8_t key;
  if (read(console, &key, 1) == 1) return key;
  console = -1;  // The end of the input is no key, and poll ignores a descriptor of -1.
  return -1;
}

static int flash(void) {
  static int descriptor = -1;
  if (descriptor >= 0) return descriptor;
  const char *path = getenv("FLASH");
  descriptor = open(path ? path : "flash.bin", O_RDWR | O_CREAT, 0600);
  if (descriptor < 0) fail("the flash in the file of FLASH");
  return descriptor;
}

void board_flash_read(int32_t page, uint8_t octets[BOARD_FLASH_PAGE_SIZE]) {
  memset(octets, 0xFF, BOARD_FLASH_PAGE_SIZE);
  // A new file is shorter than the flash, which is erased there.
  if (pread(flash(), octets, BOARD_FLASH_PAGE_SIZE, (off_t)page * BOARD_FLASH_PAGE_SIZE) < 0) fail("read from the flash");
}

void flash_write(int32_t page, const uint8_t octets[BOARD_FLASH_PAGE_SIZE]) {
  ssize_t count = pwrite(flash(), octets, BOARD_FLASH_PAGE_SIZE, (off_t)page * BOARD_FLASH_PAGE_SIZE);
  if (count != BOARD_FLASH_PAGE_SIZE) fail("write to the flash");
}

// The linker sends the calls of Swift's runtime here (--wrap).

static long allocations, live_allocations;
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
void *__real_malloc(size_t size);
void __real_free(void *memory);

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size) {
  allocations++;
  live_allocations++;
  return __real_posix_memalign(memory, alignment, size);
}

void *__wrap_malloc(size_t size) {
  allocations++;
  live_allocations++;
  return __real_malloc(size);
}

void __wrap_free(void *memory) {
  if (memory) live_allocations--;
  __real_free(memory);
}

void board_log_memory(void) {
  printf("memory: heap %zu, allocations %ld, live %ld, stack 0\n", mallinfo2().uordblks, allocations, live_allocations);
  fflush(stdout);
}
