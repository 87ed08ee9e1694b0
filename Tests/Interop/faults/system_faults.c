/* System calls that fail, for programs started with LD_PRELOAD (test_system_faults.py).
 *
 * FAULTS is a list `CALL:FAULT:PERCENT`, separated by commas. A call is read, write, recv, send, accept, socket, wait
 * (epoll_wait), watch (epoll_ctl for a descriptor that is not watched yet), or a group of calls of the program itself,
 * without its libraries: make (calls that make an eventfd, a timerfd or an epoll), thread, connect, option (of a
 * socket), name (getaddrinfo), listen (bind, listen), open, or file (calls for files and folders, without those that
 * open and transfer). A fault is `short` for a transfer of one octet at least and half of the octets at most, or the
 * name of an error number. FAULT_SEED is the seed of the decisions; FAULT_FIRST is the number of calls of each kind
 * that succeed before the first fault, FAULT_LIMIT the number of faults of each kind. The numbers of calls and faults
 * go to the file FAULT_LOG, at the end of the process and, if there is a limit, with each fault.
 *
 * Faults of transfers concern sockets, terminals and regular files. Pipes and standard output stay as they are, and so
 * do eventfd, timerfd and signalfd, whose calls the kernel neither interrupts nor cuts. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <unistd.h>

enum call {
  CALL_READ, CALL_WRITE, CALL_RECV, CALL_SEND, CALL_ACCEPT, CALL_SOCKET, CALL_WAIT, CALL_WATCH,
  CALL_MAKE, CALL_THREAD, CALL_CONNECT, CALL_OPTION, CALL_NAME, CALL_LISTEN, CALL_OPEN, CALL_FILE, CALLS
};
static const char *const call_names[CALLS] = {"read", "write", "recv", "send", "accept", "socket", "wait", "watch",
                                              "make", "thread", "connect", "option", "name", "listen", "open", "file"};

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
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  int saved = errno;
  char path[4096];
  if (!log_path || snprintf(path, sizeof path, "%s.new", log_path) >= (int)sizeof path) return;
  pthread_mutex_lock(&lock);
  FILE *log = fopen(path, "w");
  if (log) {
    for (int index = 0; index < CALLS; index++) fprintf(log, "%s %lu %lu\n", call_names[index], calls[index], faults[index]);
    fclose(log);
    rename(path, log_path);
  }
  pthread_mutex_unlock(&lock);
  errno = saved;
}

/* The fault of this call: 0 for none, SHORT_TRANSFER, or an error number. */
static int fault_of(enum call call) {
  unsigned long number = atomic_fetch_add(&calls[call], 1);
  if (number < first_calls || faults[call] >= fault_limit) return 0;
  for (int index = 0; index < rule_count; index++) {
    if (rules[index].call != call || draw() % 100 >= rules[index].percent) continue;
    atomic_fetch_add(&faults[call], 1);
    if (fault_limit < 1000) end();
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

/* Whether the program itself has made the call: its libraries may not survive a fault of theirs. */
static int is_of_program(void *caller) {
  Dl_info program, info;
  return dladdr((void *)getauxval(AT_ENTRY), &program) && dladdr(caller, &info) && info.dli_fbase == program.dli_fbase;
}

#define FAILS(call) (is_of_program(__builtin_return_address(0)) && failing(call))
#define FAILING(call, result, name, parameters, arguments) \
  result name parameters { return FAILS(call) ? (result)-1 : REAL(name) arguments; }

FAILING(CALL_MAKE, int, epoll_create1, (int flags), (flags))
FAILING(CALL_MAKE, int, eventfd, (unsigned first, int flags), (first, flags))
FAILING(CALL_MAKE, int, timerfd_create, (clockid_t clock, int flags), (clock, flags))
FAILING(CALL_CONNECT, int, connect, (int descriptor, const struct sockaddr *address, socklen_t length), (descriptor, address, length))
FAILING(CALL_LISTEN, int, bind, (int descriptor, const struct sockaddr *address, socklen_t length), (descriptor, address, length))
FAILING(CALL_LISTEN, int, listen, (int descriptor, int backlog), (descriptor, backlog))
FAILING(CALL_OPTION, int, getsockopt, (int descriptor, int level, int name, void *value, socklen_t *length), (descriptor, level, name, value, length))
FAILING(CALL_OPTION, int, setsockopt, (int descriptor, int level, int name, const void *value, socklen_t length), (descriptor, level, name, value, length))
FAILING(CALL_FILE, int, fstat, (int descriptor, struct stat *status), (descriptor, status))
FAILING(CALL_FILE, int, lstat, (const char *path, struct stat *status), (path, status))
FAILING(CALL_FILE, int, fsync, (int descriptor), (descriptor))
FAILING(CALL_FILE, int, ftruncate, (int descriptor, off_t length), (descriptor, length))
FAILING(CALL_FILE, int, fchmod, (int descriptor, mode_t mode), (descriptor, mode))
FAILING(CALL_FILE, int, flock, (int descriptor, int operation), (descriptor, operation))
FAILING(CALL_FILE, int, mkdir, (const char *path, mode_t mode), (path, mode))
FAILING(CALL_FILE, int, renameat, (int from, const char *old, int to, const char *new), (from, old, to, new))
FAILING(CALL_FILE, int, unlinkat, (int folder, const char *path, int flags), (folder, path, flags))

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  return FAILS(CALL_THREAD) ? errno : REAL(pthread_create)(thread, attributes, body, argument);
}

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  return FAILS(CALL_NAME) ? EAI_SYSTEM : REAL(getaddrinfo)(host, service, hints, found);
}

static mode_t mode_of(int flags, va_list arguments) { return flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0; }

int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return FAILS(CALL_OPEN) ? -1 : REAL(open)(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return FAILS(CALL_OPEN) ? -1 : REAL(openat)(folder, path, flags, mode);
}
