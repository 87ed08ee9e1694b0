internal import BLELinux
internal import BLEWire
internal import Glibc

/// The kernel's radio switches (rfkill); each adapter has one.
///
/// The kernel switches a blocked adapter off. When it is unblocked, the adapter stays off, and the management protocol
/// reports nothing. `/dev/rfkill` reports every change, and every user may read it.
struct RadioSwitch: ~Copyable, Sendable {
  let descriptor: FileDescriptor

  /// Opens the reports of all switches; nil if the system does not permit it.
  init?() {
    guard let opened = try? FileDescriptor.open("/dev/rfkill", flags: O_RDONLY, through: .kernel) else { return nil }
    descriptor = opened
  }

  /// Reads every report that has arrived.
  func drain() {
    var report = [UInt8](repeating: 0, count: 32)
    let number = descriptor.rawValue
    // A read returns one report.
    while unsafe read(number, &report, 32) > 0 {}
  }

  /// Whether a switch blocks the adapter, in software or in hardware.
  static func blocks(hci index: UInt16, in adapters: String = "/sys/class/bluetooth") -> Bool {
    let place = "\(adapters)/hci\(index)"
    guard let folder = unsafe opendir(place) else { return false }
    defer { _ = unsafe closedir(folder) }
    while let entry = unsafe readdir(folder) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard name.hasPrefix("rfkill") else { continue }
      if isSet("\(place)/\(name)/soft") || isSet("\(place)/\(name)/hard") { return true }
    }
    return false
  }

  private static func isSet(_ path: String) -> Bool {
    guard let file = try? FileDescriptor.open(path, flags: O_RDONLY, through: .kernel) else { return false }
    var digit: UInt8 = 0
    return unsafe read(file.rawValue, &digit, 1) == 1 && digit == UInt8(ascii: "1")
  }
}

extension TransportError {
  /// A radio switch blocks the adapter.
  static func blockedByRadioSwitch(hci index: UInt16, at name: String) -> Self {
    Self(
      .poweredOff, at: name, "a radio switch (rfkill) blocks hci\(index)",
      remedy: "Run: sudo rfkill unblock bluetooth, or use the switch of the machine.")
  }
}
