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

static bool links_are_ready(struct controller *c) { return c->ready_links == c->link_count; }
static bool is_scanning(struct controller *c) { return c->scanning; }
static bool operations_are_done(struct controller *c) { return c->operations >= c->target; }
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
    c.is_running = true;
    if (!latency_measure(&c, operations)) fail(c.fault ? c.fault : "no memory");
    end_host();
    unlink(path);
    return 0;
  }
  if (c.scenario == SCAN) {
    run(&c, is_scanning);
    c.target = c.advertisers;
    c.last_report = c.advertisers + operations;
    run(&c, reports_are_sent);
    wait_for_rest();
    before = host_time();
    c.target = c.last_report;
    run(&c, scan_is_over);
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
      run(&c, operations_are_done);
      before = host_time();
      for (int i = 0; counters && i < COUNTERS; i++) calls[i] = counters[i];
      long first = c.operations;
      c.target = first + operations;
      controller_start_operations(&c);
      run(&c, operations_are_done);
      operations = c.operations - first;
      for (int i = 0; counters && i < COUNTERS; i++) calls[i] = counters[i] - calls[i];
    }
  }
  double spent = host_time() - before;
  printf("%.0f %ld", spent / (double)operations, operations);
  for (int i = 0; counters && i < COUNTERS; i++) printf(" %lu", calls[i]);
  printf("\n");
  end_host();
  unlink(path);
  return 0;
}
