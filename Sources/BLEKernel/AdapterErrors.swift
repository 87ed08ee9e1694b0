package import BLELinux
internal import CBluetoothLinux
internal import Glibc

/// What the kernel's Bluetooth answers, and what mends it.
extension TransportError {
  /// Tells what a system call that failed on a Bluetooth socket means; `name` is the transport string.
  package init(usingAdapter name: String, _ cause: SystemError) {
    switch cause.number {
    case EAFNOSUPPORT, EPROTONOSUPPORT:
      self.init(
        .unavailable, at: name, "this kernel has no Bluetooth, or keeps it from this container",
        remedy: "sudo modprobe bluetooth, or take another transport, such as virtual", cause: cause)
    case EPERM, EACCES: self = .missingCapabilities(at: name, cause: cause)
    case ENODEV:
      self.init(.unavailable, at: name, "the adapter is not there", remedy: "plug it in (btmgmt info)", cause: cause)
    case EBUSY:
      self.init(
        .busy, at: name, "another program holds the adapter\(BluetoothDaemon.clause)",
        remedy: BluetoothDaemon.remedy, cause: cause)
    case EADDRINUSE:
      self.init(
        .busy, at: name, "another program serves ATT on the adapter\(BluetoothDaemon.clause)",
        remedy: BluetoothDaemon.remedy, cause: cause)
    case ENETDOWN:
      self.init(.poweredOff, at: name, "the adapter is switched off", remedy: "btmgmt power on", cause: cause)
    case EPIPE, EBADFD, ENOTCONN, ECONNRESET, EIO, ENXIO:
      self.init(.closed, at: name, "the adapter was unplugged or reset", remedy: "plug it in again", cause: cause)
    case ETIMEDOUT:
      self.init(
        .inputOutput, at: name, "the kernel's Bluetooth management does not answer",
        remedy: "unplug the adapter and plug it in again", cause: cause)
    case ERFKILL:
      self.init(
        .poweredOff, at: name, "the adapter is blocked by a radio switch (rfkill)",
        remedy: "sudo rfkill unblock bluetooth", cause: cause)
    default: self.init(.inputOutput, at: name, "the adapter cannot be used", cause: cause)
    }
  }

  /// The process may not send HCI commands or change adapters.
  static func missingCapabilities(at name: String, cause: SystemError? = nil) -> Self {
    let program = Processes.ownPath ?? "PROGRAM"
    return Self(
      .noPermission, at: name, "this user may not drive Bluetooth adapters: it takes cap_net_raw and cap_net_admin",
      remedy: "sudo setcap 'cap_net_raw,cap_net_admin+eip' \(program)", cause: cause)
  }
}

/// BlueZ's daemon, the usual other user of an adapter.
enum BluetoothDaemon {
  static var isRunning: Bool { Processes.isRunning("bluetoothd") }
  /// For the end of a sentence that says who it is.
  static var clause: String { isRunning ? ", most likely bluetoothd, which is running" : "" }
  static var remedy: String {
    isRunning ? "sudo systemctl stop bluetooth, or take another adapter" : "end it, or take another adapter"
  }
}

/// What `/proc` tells about processes.
enum Processes {
  /// The file of the running program.
  static var ownPath: String? {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = unsafe buffer.withUnsafeMutableBufferPointer { room in
      unsafe room.baseAddress.map { unsafe readlink("/proc/self/exe", $0, room.count) } ?? -1
    }
    return count > 0 ? String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
  }

  /// Whether a process of that name runs.
  static func isRunning(_ name: String) -> Bool {
    guard let folder = unsafe opendir("/proc") else { return false }
    defer { _ = unsafe closedir(folder) }
    while let entry = unsafe readdir(folder) {
      let process = unsafe withUnsafeBytes(of: entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard process.utf8.allSatisfy({ (48...57).contains($0) }) else { continue }
      if command(of: process) == name { return true }
    }
    return false
  }

  private static func command(of process: String) -> String? {
    guard let file = try? FileDescriptor.open("/proc/\(process)/comm", flags: O_RDONLY, through: .kernel) else {
      return nil
    }
    var buffer = [UInt8](repeating: 0, count: 64)
    let number = file.rawValue
    let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(number, $0.baseAddress, $0.count) }
    return count > 0 ? String(decoding: buffer[..<count].prefix { $0 != 0x0A }, as: UTF8.self) : nil
  }
}

extension SystemError {
  /// The other end of a socket is gone.
  static let connectionClosed = SystemError(.receive, EPIPE)
  /// The kernel did not answer what it can answer without the controller.
  static let noAnswer = SystemError(.receive, ETIMEDOUT)
}
