// Whether the host has nothing to do. A thread that another one, a socket or a timer wakes is no longer asleep when the call that wakes it
// returns: where all threads are asleep twice, and none has run in between, the host waits for its controller. That depends neither on how
// fast the computer is nor on what else it does.
#include "controller.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct look {
  bool is_asleep;
  // The threads, and how often they have run.
  unsigned long threads, runs;
};

static bool look_at_thread(pid_t host, const char *thread, struct look *look) {
  char path[64], line[128];
  snprintf(path, sizeof path, "/proc/%d/task/%.20s/status", host, thread);
  FILE *file = fopen(path, "r");
  if (!file) return false;  // it has ended
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, "State:", 6) == 0 && line[7] != 'S') look->is_asleep = false;
    // voluntary_ctxt_switches and nonvoluntary_ctxt_switches
    char *switches = strstr(line, "_ctxt_switches:");
    if (switches) look->runs += strtoul(switches + 15, NULL, 10);
  }
  fclose(file);
  look->threads += strtoul(thread, NULL, 10);
  return true;
}

static struct look look_at(pid_t host) {
  struct look look = {.is_asleep = true};
  char path[32];
  snprintf(path, sizeof path, "/proc/%d/task", host);
  DIR *threads = opendir(path);
  if (!threads) return look;
  for (struct dirent *entry; (entry = readdir(threads));) {
    if (entry->d_name[0] != '.' && !look_at_thread(host, entry->d_name, &look)) look.is_asleep = false;
  }
  closedir(threads);
  return look;
}

bool host_is_at_rest(pid_t host) {
  struct look first = look_at(host);
  if (!first.is_asleep) return false;
  struct look second = look_at(host);
  return second.is_asleep && first.threads == second.threads && first.runs == second.runs;
}
