// Counts the calls of the allocator in the program that it is loaded into (LD_PRELOAD), in all threads, and those of dispatch_async, each
// of which allocates. The counters are in memory that h4-bench-load shares with the program: the descriptor in the environment variable
// ALLOCATION_COUNTER_DESCRIPTOR.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// The functions of glibc under their other names.
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

// The calls of the allocator, and those of dispatch_async.
static _Atomic unsigned long before_start[2], *calls = before_start;

__attribute__((constructor)) static void share(void) {
  const char *number = getenv("ALLOCATION_COUNTER_DESCRIPTOR");
  if (!number) return;
  void *memory = mmap(NULL, sizeof before_start, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(number), 0);
  if (memory != MAP_FAILED) calls = memory;
}

static void count(int counter) { atomic_fetch_add_explicit(calls + counter, 1, memory_order_relaxed); }

void *malloc(size_t size) { count(0); return __libc_malloc(size); }
void *calloc(size_t number, size_t size) { count(0); return __libc_calloc(number, size); }
void *realloc(void *old, size_t size) { count(0); return __libc_realloc(old, size); }
void *memalign(size_t alignment, size_t size) { count(0); return __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { count(0); return __libc_memalign(alignment, size); }
int posix_memalign(void **result, size_t alignment, size_t size) {
  count(0);
  void *memory = __libc_memalign(alignment, size);
  if (!memory) return ENOMEM;
  *result = memory;
  return 0;
}

void dispatch_async(void *queue, void *block) {
  static void (*_Atomic next)(void *, void *);
  if (!next) next = (void (*)(void *, void *))dlsym(RTLD_NEXT, "dispatch_async");
  count(1);
  next(queue, block);
}
