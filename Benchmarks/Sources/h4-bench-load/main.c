// The load generator of the H4 benchmark: it plays the controller and the devices around it, and measures the processor time
// of the host that connects to it.
//
//   h4-bench-load SCENARIO COUNT LINKS ACTIVE LENGTHxBUFFERS PROGRAM [ARGUMENT...]
//
// SCENARIO is read, dynamic, write, command, notification, scan, discovery, publication, memory or latency (latency.c); scan-changing is scan with
// other data in each report. In discovery and publication the devices
// discover everything; publication counts the host's time from its start on, so with what it publishes. memory prints the resident and the anonymous memory of
// the host in kB, when it advertises and each link is up. LINKS is the number of devices that advertise where it is
// scan: each of them has sent one report when the measurement begins. "%P" in an argument of the program is the socket. It
// prints one line: nanoseconds of processor time for each operation, and the number of operations. With the library of
// allocation-counter in the environment variable ALLOCATION_COUNTER two more numbers follow: the calls of the allocator in all threads of
// the host during these operations, and those of dispatch_async.
//
// With the library of operation-mark in the environment variable OPERATION_MARK the host's instructions can be counted: the library's
// function is called before and after the operations, and these are sent in steps. The next step, with Number Of Completed Packets for all
// that the host has sent, begins when the host waits and everything it has sent was received. So the packets that come at a time are the
// same in each run, whatever else the computer does.
#define _GNU_SOURCE
#include "controller.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pid_t host;
static char path[108];
// The counters of the library that is loaded into the host; NULL without it.
enum { COUNTERS = 2 };
static _Atomic unsigned long *counters;
// The library that marks the operations; NULL without it.
static const char *marker;

static void fail(const char *text) {
  fprintf(stderr, "h4-bench-load: %s\n", text);
  if (host > 0) kill(host, SIGKILL);
  unlink(path);
  exit(1);
}

// Ends the host. Callgrind writes its file after the signal, which takes seconds while other programs use the processors.
static void end_host(void) {
  const struct timespec pause = {.tv_nsec = 10000000};
  kill(host, SIGTERM);
  for (int i = 0; i < 3000; i++) {
    if (waitpid(host, NULL, WNOHANG) != 0) return;
    nanosleep(&pause, NULL);
  }
  kill(host, SIGKILL);
  waitpid(host, NULL, 0);
}

// The processor time of the host, of all its threads.
static double host_time(void) {
  clockid_t clock;
  struct timespec time;
  if (clock_getcpuclockid(host, &clock) != 0 || clock_gettime(clock, &time) != 0) fail("the host has ended");
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

// Memory that the host shares, by the number of a descriptor in its environment.
static int share_counters(void) {
  int descriptor = memfd_create("allocations", 0);
  if (descriptor < 0 || ftruncate(descriptor, COUNTERS * sizeof *counters) < 0) fail("no memory for the counters");
  counters = mmap(NULL, COUNTERS * sizeof *counters, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (counters == MAP_FAILED) fail("no memory for the counters");
  return descriptor;
}

static int start_host(char **arguments) {
  const char *library = getenv("ALLOCATION_COUNTER");
  int counter = library ? share_counters() : -1;
  marker = getenv("OPERATION_MARK");
  snprintf(path, sizeof path, "/tmp/h4-bench-%d.socket", getpid());
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strcpy(address.sun_path, path);
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 1) < 0) fail("no socket");
  for (char **argument = arguments; *argument; argument++) {
    char *place = strstr(*argument, "%P");
    if (!place) continue;
    char *text = malloc(strlen(*argument) + sizeof path);
    sprintf(text, "%.*s%s%s", (int)(place - *argument), *argument, path, place + 2);
    *argument = text;
  }
  host = fork();
  if (host == 0) {
    // What the host prints is not the result of this program.
    dup2(STDERR_FILENO, STDOUT_FILENO);
    if (library) {
      char number[12];
      snprintf(number, sizeof number, "%d", counter);
      setenv("ALLOCATION_COUNTER_DESCRIPTOR", number, 1);
      setenv("LD_PRELOAD", library, 1);
    } else if (marker) {
      setenv("LD_PRELOAD", marker, 1);
    }
    execvp(arguments[0], arguments);
    _exit(127);
  }
  struct pollfd wait = {.fd = listener, .events = POLLIN};
  if (poll(&wait, 1, 60000) != 1) fail("no host connects");
  int descriptor = accept(listener, NULL, NULL);
  close(listener);
  return descriptor;
}

static void run(struct controller *c, bool (*is_done)(struct controller *)) {
  time_t end = time(NULL) + 300;
  while (!is_done(c)) {
    controller_flush(c);
    bool has_more = c->output_length || (c->target && c->scanning && !c->reports_sent);
    struct pollfd wait = {.fd = c->descriptor, .events = POLLIN | (has_more ? POLLOUT : 0)};
    if (poll(&wait, 1, 1000) > 0 && wait.revents & (POLLIN | POLLHUP)) {
      if (!controller_receive(c)) fail("the host closed the connection");
    }
    if (c->fault) fail(c->fault);
    if (time(NULL) > end) fail("nothing happens any more");
  }
  controller_flush(c);
}

// Receives until the host waits for more.
static void settle(struct controller *c) {
  const struct timespec pause = {.tv_nsec = 20000};
  for (bool is_at_rest = false;;) {
    struct pollfd wait = {.fd = c->descriptor, .events = POLLIN};
    if (poll(&wait, 1, 0) > 0) {
      if (!controller_receive(c)) fail("the host closed the connection");
    } else if (is_at_rest) {
      return;
    } else {
      nanosleep(&pause, NULL);
    }
    if (c->fault) fail(c->fault);
    is_at_rest = host_is_at_rest(host);
  }
}

static void run_in_steps(struct controller *c, bool (*is_done)(struct controller *)) {
  time_t end = time(NULL) + 900;
  c->keeps_completed = true;
  settle(c);
  while (!is_done(c) || c->output_length) {
    controller_report_completed(c);
    while (c->output_length) {
      struct pollfd wait = {.fd = c->descriptor, .events = POLLOUT};
      poll(&wait, 1, 1000);
      controller_flush(c);
    }
    settle(c);
    if (time(NULL) > end) fail("nothing happens any more");
  }
}

static void run_operations(struct controller *c, bool (*is_done)(struct controller *)) {
  if (marker) run_in_steps(c, is_done);
  else run(c, is_done);
}

// The beginning or the end of what is counted.
static void mark(struct controller *c) {
  if (!marker) return;
  settle(c);
  kill(host, SIGUSR1);
  settle(c);
}

static bool links_are_ready(struct controller *c) { return c->ready_links == c->link_count; }
static bool is_scanning(struct controller *c) { return c->scanning; }
static bool operations_are_done(struct controller *c) {
  // Where operations are counted, none is under way at the end.
  for (int i = 0; marker && i < c->link_count; i++) {
    if (c->links[i].is_waiting) return false;
  }
  return c->operations >= c->target;
}
static bool reports_are_sent(struct controller *c) {
  controller_send_reports(c);
  return c->reports == c->target && !c->output_length;
}
static bool scan_is_over(struct controller *c) {
  controller_send_reports(c);
  return !c->scanning;
}

// A field of /proc/PID/smaps_rollup of the host, in kB.
static long memory(const char *field) {
  char line[256];
  long value = -1;
  snprintf(line, sizeof line, "/proc/%d/smaps_rollup", host);
  FILE *file = fopen(line, "r");
  size_t length = strlen(field);
  while (file && value < 0 && fgets(line, sizeof line, file)) {
    if (strncmp(line, field, length) == 0 && line[length] == ':') value = atol(line + length + 1);
  }
  if (file) fclose(file);
  return value;
}

// Until the host has taken no processor time for a tenth of a second.
static void wait_for_rest(void) {
  struct timespec pause = {.tv_nsec = 100000000};
  double last = -1;
  for (int i = 0; i < 600 && host_time() != last; i++) {
    last = host_time();
    nanosleep(&pause, NULL);
  }
}

int main(int count, char **arguments) {
  static struct controller c;
  unsigned length = 0, buffers = 0;
  if (count < 7 || sscanf(arguments[5], "%ux%u", &length, &buffers) != 2) {
    fprintf(stderr, "usage: h4-bench-load SCENARIO COUNT LINKS ACTIVE LENGTHxBUFFERS PROGRAM [ARGUMENT...]\n");
    return 64;
  }
  signal(SIGPIPE, SIG_IGN);
  const char *name = arguments[1];
  long operations = atol(arguments[2]), warm = operations / 10 + 100;
  c.link_count = atoi(arguments[3]);
  c.advertisers = c.link_count;
  c.active = atoi(arguments[4]);
  c.packet_length = (uint16_t)length;
  c.buffers = (uint16_t)buffers;
  if (!controller_set_scenario(&c, name)) fail("no such scenario");
  if (c.scenario == SCAN) c.link_count = 0;
  if (c.link_count > MAX_LINKS || c.active > c.link_count || (c.scenario == SCAN && c.advertisers < 1)) fail("too many links, or none");
  c.descriptor = start_host(arguments + 6);

  double before;
  unsigned long calls[COUNTERS] = {0};
  if (c.scenario == MEMORY) {
    run(&c, controller_is_advertising);
    if (c.link_count) {
      controller_connect_links(&c);
      run(&c, links_are_ready);
    }
    wait_for_rest();
    printf("%ld %ld\n", memory("Rss"), memory("Anonymous"));
    kill(host, SIGKILL);
    waitpid(host, NULL, 0);
    unlink(path);
    return 0;
  }
  if (c.scenario == LATENCY) {
    if (!c.active) c.active = c.link_count;
    controller_connect_links(&c);
    run(&c, links_are_ready);
    c.keeps_completed = true;
    if (!latency_measure(&c, operations)) fail(c.fault ? c.fault : "no memory");
    end_host();
    unlink(path);
    return 0;
  }
  if (c.scenario == SCAN) {
    run(&c, is_scanning);
    c.target = c.advertisers;
    // The report after which the host ends its scan is not counted.
    c.last_report = c.advertisers + operations + (marker != NULL);
    run_operations(&c, reports_are_sent);
    wait_for_rest();
    mark(&c);
    before = host_time();
    c.target = c.advertisers + operations;
    run_operations(&c, marker ? reports_are_sent : scan_is_over);
  } else {
    if (c.discovers) {
      // The host is ready when it advertises; the discovery itself is measured.
      run(&c, controller_is_advertising);
      before = c.scenario == PUBLICATION ? 0 : host_time();
      controller_connect_links(&c);
      run(&c, links_are_ready);
      operations = 1;
    } else {
      controller_connect_links(&c);
      run(&c, links_are_ready);
      c.target = warm;
      controller_start_operations(&c);
      run_operations(&c, operations_are_done);
      mark(&c);
      before = host_time();
      for (int i = 0; counters && i < COUNTERS; i++) calls[i] = counters[i];
      long first = c.operations;
      c.target = first + operations;
      controller_start_operations(&c);
      run_operations(&c, operations_are_done);
      operations = c.operations - first;
      for (int i = 0; counters && i < COUNTERS; i++) calls[i] = counters[i] - calls[i];
    }
  }
  double spent = host_time() - before;
  mark(&c);
  printf("%.0f %ld", spent / (double)operations, operations);
  for (int i = 0; counters && i < COUNTERS; i++) printf(" %lu", calls[i]);
  printf("\n");
  end_host();
  unlink(path);
  return 0;
}
