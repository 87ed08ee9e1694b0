// Preloaded into bluetoothd, which takes every adapter it sees: lets it see no hci0 on its management sockets.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

struct __attribute__((packed)) message {
  uint16_t code, adapter, length;
  struct __attribute__((packed)) { uint16_t command; uint8_t status; uint16_t count, adapters[]; } answer;
};

enum { header = 6, answer_header = 5, command_complete = 1, read_index_list = 3, no_adapter = 0xFFFF, no_event = 0x7FFF };

static int is_management(int file) {
  int domain = 0, protocol = 0;
  socklen_t size = sizeof domain;
  if (getsockopt(file, SOL_SOCKET, SO_DOMAIN, &domain, &size) || domain != PF_BLUETOOTH) return 0;
  size = sizeof protocol;
  return !getsockopt(file, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) && protocol == 1;
}

ssize_t read(int file, void *buffer, size_t room) {
  ssize_t (*next)(int, void *, size_t) = (ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
  ssize_t count = next(file, buffer, room);
  if (count < header || !is_management(file)) return count;
  struct message *message = buffer;
  if (message->adapter == 0) {
    *message = (struct message){.code = no_event, .adapter = no_adapter};
    return header;
  }
  if (message->code != command_complete || message->adapter != no_adapter || count < header + answer_header ||
      message->answer.command != read_index_list)
    return count;
  uint16_t kept = 0;
  for (uint16_t i = 0; i < message->answer.count; i++)
    if (message->answer.adapters[i] != 0) message->answer.adapters[kept++] = message->answer.adapters[i];
  message->answer.count = kept;
  message->length = answer_header + 2 * kept;
  return header + message->length;
}
