/* System calls that fail, for programs started with LD_PRELOAD (test_system_faults.py).
 *
 * FAULTS is a list `CALL:FAULT:PERCENT`, separated by commas. A call is read, write, recv, send, accept, socket, wait (epoll_wait) or
 * watch (epoll_ctl for a descriptor that is not watched yet); a fault is
 * `short` for a transfer of one octet at least and half of the octets at most, or the name of an error number. FAULT_SEED is the seed
 * of the decisions; FAULT_FIRST is the number of calls of each kind that succeed before the first fault, FAULT_LIMIT the number of
 * faults of each kind. At the end of the process the number of faults goes to the file FAULT_LOG.
 *
 * Faults concern sockets, terminals and regular files. Pipes and standard output stay as they are, and so do eventfd, timerfd and
 * signalfd, whose calls the kernel neither interrupts nor cuts. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum call { CALL_READ, CALL_WRITE, CALL_RECV, CALL_SEND, CALL_ACCEPT, CALL_SOCKET, CALL_WAIT, CALL_WATCH, CALLS };
static const char *const call_names[CALLS] = {"read", "write", "recv", "send", "accept", "socket", "wait", "watch"};

static const struct {
  const char *name;
  int number;
} errors[] = {{"EINTR", EINTR},   {"EAGAIN", EAGAIN}, {"ENOBUFS", ENOBUFS}, {"ENOMEM", ENOMEM},
              {"EMFILE", EMFILE}, {"ENFILE", ENFILE}, {"EIO", EIO},         {"ENOSPC", ENOSPC}};

#define SHORT_TRANSFER (-1)
#define RULES 32

static struct {
  enum call call;
  int fault;
  unsigned percent;
} rules[RULES];
static int rule_count;
static unsigned long first_calls, fault_limit;
static _Atomic unsigned long calls[CALLS], faults[CALLS];
static _Atomic uint64_t state;
static const char *log_path;

static uint64_t draw(void) {
  uint64_t mixed = atomic_fetch_add(&state, 0x9E3779B97F4A7C15u) + 0x9E3779B97F4A7C15u;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
  return mixed ^ mixed >> 31;
}

__attribute__((constructor)) static void begin(void) {
  const char *seed = getenv("FAULT_SEED"), *first = getenv("FAULT_FIRST"), *text = getenv("FAULTS");
  const char *limit = getenv("FAULT_LIMIT");
  log_path = getenv("FAULT_LOG");
  fault_limit = limit ? strtoul(limit, NULL, 0) : ~0ul;
  atomic_store(&state, seed ? strtoull(seed, NULL, 0) : 1);
  first_calls = first ? strtoul(first, NULL, 0) : 0;
  char *copy = text ? strdup(text) : NULL, *rest = copy;
  for (char *rule = strtok_r(copy, ",", &rest); copy && rule && rule_count < RULES; rule = strtok_r(NULL, ",", &rest)) {
    char call[16] = "", fault[16] = "";
    unsigned percent = 0;
    if (sscanf(rule, "%15[^:]:%15[^:]:%u", call, fault, &percent) != 3) abort();
    int known = 0;
    for (int index = 0; index < CALLS; index++)
      if (!strcmp(call, call_names[index])) rules[rule_count].call = (enum call)index, known |= 1;
    if (!strcmp(fault, "short")) rules[rule_count].fault = SHORT_TRANSFER, known |= 2;
    for (size_t index = 0; index < sizeof errors / sizeof *errors; index++)
      if (!strcmp(fault, errors[index].name)) rules[rule_count].fault = errors[index].number, known |= 2;
    if (known != 3) abort();
    rules[rule_count++].percent = percent;
  }
  free(copy);
}

__attribute__((destructor)) static void end(void) {
  FILE *log = log_path ? fopen(log_path, "w") : NULL;
  if (!log) return;
  for (int index = 0; index < CALLS; index++) fprintf(log, "%s %lu %lu\n", call_names[index], calls[index], faults[index]);
  fclose(log);
}

/* The fault of this call: 0 for none, SHORT_TRANSFER, or an error number. */
static int fault_of(enum call call) {
  unsigned long number = atomic_fetch_add(&calls[call], 1);
  if (number < first_calls || faults[call] >= fault_limit) return 0;
  for (int index = 0; index < rule_count; index++) {
    if (rules[index].call != call || draw() % 100 >= rules[index].percent) continue;
    atomic_fetch_add(&faults[call], 1);
    return rules[index].fault;
  }
  return 0;
}

/* Whether transfers of the descriptor may have faults, and whether they may be cut: not those of message sockets. */
static int has_faults(int descriptor, int *is_stream) {
  struct stat status;
  int saved = errno, type = 0, found = 0;
  socklen_t length = sizeof type;
  *is_stream = 1;
  if (descriptor > 2 && fstat(descriptor, &status) == 0) {
    found = S_ISSOCK(status.st_mode) || S_ISREG(status.st_mode) || (S_ISCHR(status.st_mode) && isatty(descriptor));
    if (S_ISSOCK(status.st_mode) && getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0)
      *is_stream = type == SOCK_STREAM;
  }
  errno = saved;
  return found;
}

/* Fails with the fault's number, or shortens the transfer. */
static int prepare(enum call call, int descriptor, size_t *count) {
  int is_stream;
  if (!has_faults(descriptor, &is_stream)) return 0;
  int fault = fault_of(call);
  if (fault == SHORT_TRANSFER) {
    if (is_stream && *count > 1) *count = 1 + draw() % (*count / 2);
    return 0;
  }
  if (fault) errno = fault;
  return fault;
}

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

ssize_t read(int descriptor, void *buffer, size_t count) {
  return prepare(CALL_READ, descriptor, &count) ? -1 : REAL(read)(descriptor, buffer, count);
}

ssize_t write(int descriptor, const void *buffer, size_t count) {
  return prepare(CALL_WRITE, descriptor, &count) ? -1 : REAL(write)(descriptor, buffer, count);
}

ssize_t recv(int descriptor, void *buffer, size_t count, int flags) {
  return prepare(CALL_RECV, descriptor, &count) ? -1 : REAL(recv)(descriptor, buffer, count, flags);
}

ssize_t send(int descriptor, const void *buffer, size_t count, int flags) {
  return prepare(CALL_SEND, descriptor, &count) ? -1 : REAL(send)(descriptor, buffer, count, flags);
}

static int failing(enum call call) {
  int fault = fault_of(call);
  if (fault > 0) errno = fault;
  return fault > 0;
}

int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags) {
  return failing(CALL_ACCEPT) ? -1 : REAL(accept4)(descriptor, address, length, flags);
}

int accept(int descriptor, struct sockaddr *address, socklen_t *length) {
  return failing(CALL_ACCEPT) ? -1 : REAL(accept)(descriptor, address, length);
}

int socket(int domain, int type, int protocol) { return failing(CALL_SOCKET) ? -1 : REAL(socket)(domain, type, protocol); }

int socketpair(int domain, int type, int protocol, int pair[2]) {
  return failing(CALL_SOCKET) ? -1 : REAL(socketpair)(domain, type, protocol, pair);
}

/* libdispatch ends the program, or loses a signal source, when its own epoll fails: that is no fault of ours. */
static int is_ours(void *caller) {
  Dl_info info;
  return !dladdr(caller, &info) || !info.dli_fname || !strstr(info.dli_fname, "libdispatch");
}

int epoll_ctl(int poll, int operation, int descriptor, struct epoll_event *event) {
  return operation == EPOLL_CTL_ADD && is_ours(__builtin_return_address(0)) && failing(CALL_WATCH) ? -1 : REAL(epoll_ctl)(poll, operation, descriptor, event);
}

int epoll_wait(int poll, struct epoll_event *events, int count, int milliseconds) {
  return is_ours(__builtin_return_address(0)) && failing(CALL_WAIT) ? -1 : REAL(epoll_wait)(poll, events, count, milliseconds);
}

int epoll_pwait2(int poll, struct epoll_event *events, int count, const struct timespec *time, const sigset_t *mask) {
  return is_ours(__builtin_return_address(0)) && failing(CALL_WAIT) ? -1 : REAL(epoll_pwait2)(poll, events, count, time, mask);
}
