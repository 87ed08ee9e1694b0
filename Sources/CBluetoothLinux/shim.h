// The kernel's Bluetooth structures and numbers (libbluetooth-dev; only its headers, the library is not linked), and system calls for
// its sockets.
#ifndef CBLUETOOTHLINUX_SHIM_H
#define CBLUETOOTHLINUX_SHIM_H

#if !__has_include(<bluetooth/bluetooth.h>)
#error The headers of libbluetooth are missing. Run: sudo apt-get install libbluetooth-dev
#endif

#include <bluetooth/bluetooth.h>
#include <bluetooth/hci.h>
#include <bluetooth/l2cap.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <string.h>

// glibc declares it for _GNU_SOURCE only, which Swift's import of the headers does not set.
extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

// The kernel's measure of the octets that a socket has not sent (TIOCOUTQ). Swift does not import ioctl.
static inline int ble_output_queue(int descriptor, int *octets) { return ioctl(descriptor, TIOCOUTQ, octets); }

// The links of an adapter, of all programs (HCIGETCONNLIST); at most `capacity`, which is 64 at most. -1 with errno is a failure.
static inline int ble_connection_list(int descriptor, uint16_t adapter, struct hci_conn_info *links, int capacity) {
  union {
    struct hci_conn_list_req request;
    char octets[sizeof(struct hci_conn_list_req) + 64 * sizeof(struct hci_conn_info)];
  } list;
  memset(&list, 0, sizeof list);
  list.request.dev_id = adapter;
  list.request.conn_num = (uint16_t)(capacity < 64 ? capacity : 64);
  if (ioctl(descriptor, HCIGETCONNLIST, &list) < 0) return -1;
  int count = list.request.conn_num < capacity ? list.request.conn_num : capacity;
  memcpy(links, list.request.conn_info, (size_t)count * sizeof *links);
  return count;
}

#endif
