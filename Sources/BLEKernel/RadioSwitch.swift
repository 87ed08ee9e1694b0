internal import BLELinux
internal import BLEWire
internal import CBluetoothLinux
internal import Glibc

/// The kernel's radio switches (rfkill), one of which stands before each adapter.
///
/// A blocked adapter is switched off by the kernel and stays off when it is unblocked, without a word by the management
/// protocol. `/dev/rfkill` tells of every change, and everyone may read it.
struct RadioSwitch: ~Copyable, Sendable {
  let descriptor: FileDescriptor

  /// Opens the news of all switches; nil where this system keeps them from us.
  init?() {
    guard let opened = try? FileDescriptor.open("/dev/rfkill", flags: O_RDONLY, through: .kernel) else { return nil }
    descriptor = opened
  }

  /// Reads every piece of news that is there.
  func drain() {
    var news = InlineArray<32, UInt8>(repeating: 0)
    let number = descriptor.rawValue
    // A read gives one piece of news.
    while unsafe read(number, &news, 32) > 0 {}
  }

  /// Whether a switch blocks the adapter, by software or by hand.
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
  /// A radio switch stands before the adapter.
  static func blockedByRadioSwitch(hci index: UInt16, at name: String) -> Self {
    Self(
      .poweredOff, at: name, "hci\(index) is blocked by a radio switch (rfkill)",
      remedy: "sudo rfkill unblock bluetooth, or the switch of the machine")
  }
}
