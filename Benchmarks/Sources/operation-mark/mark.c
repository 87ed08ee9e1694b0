// Marks the beginning and the end of the operations in the program that it is loaded into (LD_PRELOAD): SIGUSR1 calls operation_mark,
// before which callgrind writes what it has counted (--dump-before), and begins again.
#include <signal.h>

void operation_mark(void);

__attribute__((noinline)) void operation_mark(void) { __asm__ volatile(""); }

static void take(int number) {
  (void)number;
  operation_mark();
}

__attribute__((constructor)) static void begin(void) { signal(SIGUSR1, take); }
