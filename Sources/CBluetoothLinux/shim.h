// What the Linux edge needs from the system's headers and Swift's Glibc module does not give:
// epoll, eventfd, pseudo-terminals, and the kernel's Bluetooth structures (libbluetooth-dev).
#ifndef CBLUETOOTHLINUX_SHIM_H
#define CBLUETOOTHLINUX_SHIM_H

#include <bluetooth/bluetooth.h>
#include <bluetooth/hci.h>
#include <bluetooth/l2cap.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pty.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#endif
