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
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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
extern int pipe2(int ends[2], int flags);
extern char **environ;
extern long syscall(long number, ...);
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
// Starts a command in a shell that reads nothing and writes to a descriptor. It has a process group of its own, and the
// default action for each signal. Returns an error number.
static inline int ble_spawn_shell(const char *command, int output, pid_t *process) {
  char *arguments[] = {(char *)"sh", (char *)"-c", (char *)command, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  error = posix_spawnattr_init(&attributes);
  if (!error) {
    error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    if (!error) error = posix_spawn(process, "/bin/sh", &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return error;
}
// A descriptor that is readable when a child process has ended. By its number: glibc has the function since 2.36.
static inline int ble_pidfd_open(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }
static inline int ble_take_terminal(int descriptor) { return ioctl(descriptor, TIOCEXCL); }

#endif
