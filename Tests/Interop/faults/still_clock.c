/* A monotonic clock that stands still until the test moves it, for programs started with LD_PRELOAD (test_stopped.py): the file
 * CLOCK_SECONDS has the seconds since the start, in eight octets of the computer's order. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct timespec start;
static const volatile int64_t *seconds;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("CLOCK_SECONDS");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *seconds, PROT_READ, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) abort();
  close(file);
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &start);
  seconds = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (clock != CLOCK_MONOTONIC || !seconds) return (int)syscall(SYS_clock_gettime, clock, time);
  *time = start;
  time->tv_sec += *seconds;
  return 0;
}
