// The kernel's Bluetooth structures and numbers (libbluetooth-dev), and a system call for its sockets.
#ifndef CBLUETOOTHLINUX_SHIM_H
#define CBLUETOOTHLINUX_SHIM_H

#include <bluetooth/bluetooth.h>
#include <bluetooth/hci.h>
#include <bluetooth/l2cap.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

// glibc declares it for _GNU_SOURCE only, which Swift's import of the headers does not set.
extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

// The kernel's measure of the octets that a socket has not sent (TIOCOUTQ). Swift does not import ioctl.
static inline int ble_output_queue(int descriptor, int *octets) { return ioctl(descriptor, TIOCOUTQ, octets); }

#endif
