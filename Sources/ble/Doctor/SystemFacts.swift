import BLELinux
import CLinux
import Glibc

/// The parts of a Linux system on which Bluetooth depends, in their current state.
struct SystemFacts: Sendable {
  /// A radio switch (rfkill) of type bluetooth.
  struct RadioSwitch: Sendable {
    var name: String
    var isSoftBlocked: Bool
    var isHardBlocked: Bool
  }

  /// The error number of `socket(AF_BLUETOOTH)`; 0 if it succeeds.
  var socketError: Int32
  /// Whether the kernel's module bluetooth is loaded or built in.
  var hasModule: Bool
  /// The adapters in /sys/class/bluetooth, such as hci0.
  var adapters: [String]
  var radioSwitches: [RadioSwitch]
  /// CAP_NET_ADMIN and CAP_NET_RAW (capabilities(7)).
  var hasNetAdmin: Bool
  var hasNetRaw: Bool
  /// Whether BlueZ's daemon runs.
  var hasDaemon: Bool
  /// Serial devices that can be development boards with HCI firmware.
  var serialDevices: [String]
  /// Nil on any other computer.
  var raspberryPi: RaspberryPi?
  var kernelRelease: String
  /// The path of this program.
  var program: String

  /// Reads the facts of this system.
  static func current() -> Self {
    let capabilities = effectiveCapabilities()
    return Self(
      socketError: socketError(), hasModule: access("/sys/module/bluetooth", F_OK) == 0,
      // The folder also has links: hci0:64.
      adapters: Files.names(in: "/sys/class/bluetooth").filter { $0.hasPrefix("hci") && !$0.contains(":") },
      radioSwitches: radioSwitches(),
      hasNetAdmin: capabilities >> 12 & 1 == 1, hasNetRaw: capabilities >> 13 & 1 == 1,
      hasDaemon: Processes.isRunning("bluetoothd"),
      serialDevices: Files.names(in: "/dev").filter { $0.hasPrefix("ttyACM") || $0.hasPrefix("ttyUSB") },
      raspberryPi: text("/proc/device-tree/model").hasPrefix("Raspberry Pi") ? raspberryPi() : nil,
      kernelRelease: text("/proc/sys/kernel/osrelease"),
      program: Processes.ownPath ?? CommandLine.arguments.first ?? "ble")
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
    return line?.split(whereSeparator: \.isWhitespace).last.flatMap { UInt64($0, radix: 16) } ?? 0
  }

  private static func radioSwitches() -> [RadioSwitch] {
    let folder = "/sys/class/rfkill"
    return Files.names(in: folder).compactMap { name in
      guard text("\(folder)/\(name)/type") == "bluetooth" else { return nil }
      return RadioSwitch(
        name: text("\(folder)/\(name)/name"), isSoftBlocked: text("\(folder)/\(name)/soft") == "1",
        isHardBlocked: text("\(folder)/\(name)/hard") == "1")
    }
  }

  private static func raspberryPi() -> RaspberryPi {
    let places: [String] = ["/boot/firmware/config.txt", "/boot/config.txt"]
    let path = places.first { access($0, R_OK) == 0 }
    let units = ["/lib", "/usr/lib", "/etc"].map { "\($0)/systemd/system/hciuart.service" }
    return RaspberryPi(
      configuration: path ?? "/boot/firmware/config.txt",
      overlays: path.map { RaspberryPi.overlays(in: text($0)) } ?? [],
      hasAttachService: units.contains { access($0, F_OK) == 0 }, attaches: Processes.isRunning("hciattach"))
  }

  /// The content of a small file without the line feed at its end; empty if it cannot be read.
  private static func text(_ path: String) -> String {
    let octets = (try? Files.octets(of: path)) ?? []
    return String(decoding: octets.last == 0x0A ? octets.dropLast() : octets[...], as: UTF8.self)
  }
}
