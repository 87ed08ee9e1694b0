// System headers that Swift's Glibc module lacks: epoll, eventfd, timerfd, pseudo-terminals, wcwidth.
#ifndef CLINUX_SHIM_H
#define CLINUX_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

// glibc declares these for _GNU_SOURCE only, which Swift's import of the headers does not set.
extern const char *strerrorname_np(int number);
extern const char *strerrordesc_np(int number);
extern int posix_openpt(int flags);
extern int grantpt(int descriptor);
extern int unlockpt(int descriptor);
extern int ptsname_r(int descriptor, char *name, unsigned long length);
extern int wcwidth(wchar_t character);
extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

// Variadic in C, so not callable from Swift as they are.
static inline int ble_open(const char *path, int flags, unsigned mode) { return open(path, flags, mode); }
static inline int ble_openat(int folder, const char *name, int flags, unsigned mode) {
  return openat(folder, name, flags, mode);
}
static inline int ble_set_nonblocking(int descriptor) {
  int flags = fcntl(descriptor, F_GETFL);
  return flags < 0 ? -1 : fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}
static inline int ble_take_terminal(int descriptor) { return ioctl(descriptor, TIOCEXCL); }

#endif
