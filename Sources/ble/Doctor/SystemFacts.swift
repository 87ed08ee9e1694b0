import CLinux
import Foundation

/// The parts of a Linux system on which Bluetooth depends, as they are now.
struct SystemFacts: Sendable {
  /// A radio switch (rfkill) of type bluetooth.
  struct RadioSwitch: Sendable {
    var name: String
    var isSoftBlocked: Bool
    var isHardBlocked: Bool
  }

  /// The error number of `socket(AF_BLUETOOTH)`; 0 where it succeeds.
  var socketError: Int32
  /// Whether the kernel's module bluetooth is loaded or built in.
  var hasModule: Bool
  /// The adapters in /sys/class/bluetooth, such as hci0.
  var adapters: [String]
  var radioSwitches: [RadioSwitch]
  /// CAP_NET_ADMIN and CAP_NET_RAW (capabilities(7)).
  var mayAdministrate: Bool
  var mayUseRawSockets: Bool
  /// Whether BlueZ's daemon runs.
  var hasDaemon: Bool
  /// Serial devices that can be development boards with HCI firmware.
  var serialDevices: [String]
  var kernelRelease: String
  /// The path of this program.
  var program: String

  /// Reads the facts of this system.
  static func current() -> Self {
    let files = FileManager.default
    let classes = (try? files.contentsOfDirectory(atPath: "/sys/class/bluetooth")) ?? []
    let capabilities = effectiveCapabilities()
    return Self(
      socketError: socketError(), hasModule: files.fileExists(atPath: "/sys/module/bluetooth"),
      // Links are there, too: hci0:64.
      adapters: classes.filter { $0.hasPrefix("hci") && !$0.contains(":") }.sorted(), radioSwitches: radioSwitches(),
      mayAdministrate: capabilities >> 12 & 1 == 1, mayUseRawSockets: capabilities >> 13 & 1 == 1,
      hasDaemon: isRunning("bluetoothd"),
      serialDevices: ((try? files.contentsOfDirectory(atPath: "/dev")) ?? [])
        .filter { $0.hasPrefix("ttyACM") || $0.hasPrefix("ttyUSB") }.sorted(),
      kernelRelease: text("/proc/sys/kernel/osrelease"),
      program: (try? files.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments.first ?? "ble")
  }

  /// AF_BLUETOOTH is 31, BTPROTO_HCI is 1 (bluetooth/bluetooth.h). The socket itself needs no capability.
  private static func socketError() -> Int32 {
    let descriptor = socket(31, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 1)
    guard descriptor >= 0 else { return errno }
    close(descriptor)
    return 0
  }

  private static func effectiveCapabilities() -> UInt64 {
    let line = text("/proc/self/status").split(separator: "\n").first { $0.hasPrefix("CapEff:") }
    return line.flatMap { UInt64($0.dropFirst(7).trimmingCharacters(in: .whitespaces), radix: 16) } ?? 0
  }

  private static func radioSwitches() -> [RadioSwitch] {
    let folder = "/sys/class/rfkill"
    return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted().compactMap { name in
      guard text("\(folder)/\(name)/type") == "bluetooth" else { return nil }
      return RadioSwitch(
        name: text("\(folder)/\(name)/name"), isSoftBlocked: text("\(folder)/\(name)/soft") == "1",
        isHardBlocked: text("\(folder)/\(name)/hard") == "1")
    }
  }

  private static func isRunning(_ command: String) -> Bool {
    ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).contains { name in
      Int(name) != nil && text("/proc/\(name)/comm") == command
    }
  }

  /// The content of a small file without the line feed at its end; empty where it cannot be read.
  private static func text(_ path: String) -> String {
    guard let data = FileManager.default.contents(atPath: path) else { return "" }
    return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .newlines)
  }
}
