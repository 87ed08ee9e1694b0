internal import BLELinux
internal import Glibc

/// The errors of the kernel's Bluetooth, and their remedies.
extension TransportError {
  /// The error of a system call on a Bluetooth socket; `name` is the transport string.
  init(usingAdapter name: String, _ cause: SystemError) {
    switch cause.number {
    case EAFNOSUPPORT, EPROTONOSUPPORT:
      self.init(
        .unavailable, at: name, "this kernel has no Bluetooth, or withholds it from this container",
        remedy: "Run: sudo modprobe bluetooth. Without hardware, ble demo and ble radio have a simulated one.",
        cause: cause)
    case EPERM, EACCES: self = .missingCapabilities(at: name, cause: cause)
    case ENODEV:
      self.init(
        .unavailable, at: name, "the adapter does not exist",
        remedy: "Plug it in. To list adapters, run: btmgmt info", cause: cause)
    case EBUSY:
      self.init(
        .busy, at: name, "another program uses the adapter\(BluetoothDaemon.clause)",
        remedy: BluetoothDaemon.remedy, cause: cause)
    case EADDRINUSE:
      self.init(
        .busy, at: name, "another program serves ATT on the adapter\(BluetoothDaemon.clause)",
        remedy: BluetoothDaemon.remedy, cause: cause)
    case ENETDOWN:
      self.init(
        .poweredOff, at: name, "the adapter is switched off", remedy: "Run: btmgmt power on", cause: cause)
    case EPIPE, EBADFD, ENOTCONN, ECONNRESET, EIO, ENXIO:
      self.init(
        .closed, at: name, "the adapter was unplugged or reset", remedy: "Plug it in again.", cause: cause)
    case ETIMEDOUT:
      self.init(
        .inputOutput, at: name, "the kernel's Bluetooth management does not answer",
        remedy: "Unplug the adapter and plug it in again.", cause: cause)
    case ERFKILL:
      self.init(
        .poweredOff, at: name, "a radio switch (rfkill) blocks the adapter",
        remedy: "Run: sudo rfkill unblock bluetooth", cause: cause)
    default: self.init(.inputOutput, at: name, "the adapter cannot be used", cause: cause)
    }
  }

  /// The process may not send HCI commands or configure adapters.
  static func missingCapabilities(at name: String, cause: SystemError? = nil) -> Self {
    Self(
      .noPermission, at: name,
      "no permission to use Bluetooth adapters: the program needs the capabilities cap_net_raw and cap_net_admin",
      remedy: "Run: sudo setcap 'cap_net_raw,cap_net_admin+eip' \(Processes.ownPath ?? "PROGRAM")", cause: cause)
  }
}

/// BlueZ's daemon, which is the usual other user of an adapter.
enum BluetoothDaemon {
  static var isRunning: Bool { Processes.isRunning("bluetoothd") }
  /// The clause that names the program, for the end of a sentence.
  static var clause: String { isRunning ? ", most likely bluetoothd, which is running" : "" }
  static var remedy: String {
    isRunning
      ? "Run: sudo systemctl stop bluetooth, or use another adapter." : "End that program, or use another adapter."
  }
}

extension SystemError {
  /// The other end of a socket is closed.
  static let connectionClosed = SystemError(.receive, EPIPE)
  /// The kernel did not answer a request that does not involve the controller.
  static let noAnswer = SystemError(.receive, ETIMEDOUT)
}
