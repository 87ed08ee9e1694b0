/// The settings of a Raspberry Pi on which its own Bluetooth adapter depends.
///
/// The adapter is on a serial line of the processor. A kernel with a driver for that line loads the firmware and
/// changes the baud rate by itself; before, the service hciuart did both with `hciattach`.
struct RaspberryPi: Sendable {
  /// The file with the overlays.
  var configuration: String
  var overlays: Set<String>
  /// Whether hciuart.service is installed.
  var hasAttachService: Bool
  /// Whether `hciattach` runs.
  var attaches: Bool

  /// The overlays that a configuration file loads, without their parameters.
  ///
  /// The sections of the file, each for some models, are not distinguished: a finding names the file, for the user to
  /// look.
  static func overlays(in text: String) -> Set<String> {
    let names = text.split(whereSeparator: \.isNewline).compactMap { line -> String? in
      let setting = line.filter { $0 != " " && $0 != "\t" }
      guard setting.hasPrefix("dtoverlay=") else { return nil }
      return setting.dropFirst(10).split { $0 == "," || $0 == ":" || $0 == "#" }.first.map(String.init)
    }
    return Set(names)
  }

  /// Why the kernel may have no adapter.
  var absence: Check? {
    if let overlay = ["disable-bt", "pi3-disable-bt"].first(where: { overlays.contains($0) }) {
      return Check(
        name: "adapters", verdict: .failure,
        finding: "the kernel has no adapter: dtoverlay=\(overlay) in \(configuration) disables the one on the board",
        remedy: "Remove that line, then restart the computer.")
    }
    guard hasAttachService, !attaches else { return nil }
    return Check(
      name: "adapters", verdict: .failure,
      finding: "the kernel has no adapter: the service that attaches the one on the board does not run",
      remedy: "Run: sudo systemctl enable --now hciuart")
  }

  /// The adapter shares a serial line without a clock of its own.
  var line: Check? {
    guard let overlay = ["miniuart-bt", "pi3-miniuart-bt"].first(where: { overlays.contains($0) }) else { return nil }
    return Check(
      name: "serial line", verdict: .warning,
      finding: "dtoverlay=\(overlay): the adapter is on the mini UART, whose rate follows the clock of the processor",
      remedy: "If it stops answering, write core_freq=250 into \(configuration), or remove the overlay.")
  }
}
