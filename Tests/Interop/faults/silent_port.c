/* A port that never answers, as behind a router that drops packets: connect() to the TCP port SILENT_PORT of IPv4 or IPv6 does not
 * return, in programs started with LD_PRELOAD (test_signals.py). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int connect(int descriptor, const struct sockaddr *address, socklen_t length) {
  const char *port = getenv("SILENT_PORT");
  in_port_t wanted = htons((uint16_t)(port ? atoi(port) : 0));
  if ((address->sa_family == AF_INET && ((const struct sockaddr_in *)address)->sin_port == wanted) ||
      (address->sa_family == AF_INET6 && ((const struct sockaddr_in6 *)address)->sin6_port == wanted))
    for (;;) pause();
  int (*next)(int, const struct sockaddr *, socklen_t);
  *(void **)&next = dlsym(RTLD_NEXT, "connect");
  return next(descriptor, address, length);
}
