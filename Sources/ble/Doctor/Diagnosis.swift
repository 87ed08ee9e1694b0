/// One line of `ble doctor`.
struct Check: Encodable, Sendable {
  enum Verdict: String, Encodable, Sendable { case good, warning, failure, information }

  var name: String
  var verdict: Verdict
  /// The finding.
  var finding: String
  /// The command or step that repairs it; nil if nothing has to be done.
  var remedy: String?
}

/// The checks of a system.
enum Diagnosis {
  /// The name of the check of the rights of this process.
  static let permissions = "permissions"
  private static let noAddressFamily: Int32 = 97
  private static let notPermitted: Set<Int32> = [1, 13]

  /// The checks of the kernel and of the rights of this process, in the order in which an adapter needs them.
  static func checks(_ facts: SystemFacts) -> [Check] {
    var checks = [kernel(facts)]
    guard facts.socketError == 0 else { return checks }
    checks.append(adapters(facts))
    if let line = facts.raspberryPi?.line { checks.append(line) }
    checks += facts.radioSwitches.map(radioSwitch)
    checks.append(rights(facts))
    checks.append(daemon(facts))
    return checks
  }

  private static func kernel(_ facts: SystemFacts) -> Check {
    let name = "kernel"
    switch facts.socketError {
    case 0: return Check(name: name, verdict: .good, finding: "Linux \(facts.kernelRelease) with Bluetooth")
    case noAddressFamily where facts.hasModule:
      return Check(
        name: name, verdict: .failure,
        finding: "the kernel has Bluetooth, but not in this network namespace, such as that of a container",
        remedy: "Run the container with --net host --cap-add NET_ADMIN --cap-add NET_RAW.")
    case noAddressFamily:
      return Check(
        name: name, verdict: .failure, finding: "Linux \(facts.kernelRelease) has no Bluetooth",
        remedy: "Run: sudo modprobe bluetooth. Without hardware, ble demo and ble radio have a simulated one.")
    case let number where notPermitted.contains(number):
      return Check(
        name: name, verdict: .failure, finding: "this process may not open Bluetooth sockets (error \(number))",
        remedy: "Allow AF_BLUETOOTH: RestrictAddressFamilies= of the systemd unit, or the container's seccomp profile.")
    case let number:
      return Check(name: name, verdict: .failure, finding: "Bluetooth sockets cannot be opened (error \(number))")
    }
  }

  private static func adapters(_ facts: SystemFacts) -> Check {
    guard facts.adapters.isEmpty else {
      return Check(name: "adapters", verdict: .good, finding: facts.adapters.joined(separator: ", "))
    }
    if let absence = facts.raspberryPi?.absence { return absence }
    let serial = facts.serialDevices.map { "serial:/dev/\($0)" }
    return Check(
      name: "adapters", verdict: .failure, finding: "the kernel has no adapter",
      remedy: serial.isEmpty
        ? "Plug an adapter in, and look at: sudo dmesg | grep -i bluetooth"
        : "Plug an adapter in, or use a board with HCI firmware: --transport \(serial.joined(separator: " or "))")
  }

  private static func radioSwitch(_ found: SystemFacts.RadioSwitch) -> Check {
    let name = "radio switch \(found.name)"
    if found.isHardBlocked {
      return Check(
        name: name, verdict: .failure, finding: "blocked by a switch or key of the machine",
        remedy: "Use that switch or key; then run: rfkill list bluetooth")
    }
    if found.isSoftBlocked {
      return Check(
        name: name, verdict: .failure, finding: "blocked by software", remedy: "Run: sudo rfkill unblock bluetooth")
    }
    return Check(name: name, verdict: .good, finding: "not blocked")
  }

  private static func rights(_ facts: SystemFacts) -> Check {
    let missing =
      (facts.hasNetRaw ? [] : ["cap_net_raw"]) + (facts.hasNetAdmin ? [] : ["cap_net_admin"])
    guard !missing.isEmpty else {
      return Check(name: permissions, verdict: .good, finding: "cap_net_raw and cap_net_admin")
    }
    return Check(
      name: permissions, verdict: .failure, finding: "this process has no \(missing.joined(separator: " and no "))",
      remedy: "Run: sudo setcap 'cap_net_raw,cap_net_admin+eip' \(facts.program)")
  }

  private static func daemon(_ facts: SystemFacts) -> Check {
    guard facts.hasDaemon else {
      return Check(name: "bluetoothd", verdict: .information, finding: "not running")
    }
    return Check(
      name: "bluetoothd", verdict: .information,
      finding: "running: it shares the adapter with --transport linux, and loses it to --transport hci-socket",
      remedy: "If it changes the adapter while your program runs: sudo systemctl stop bluetooth")
  }

  /// The settings of a transport on a serial line, which nothing but an answer of the controller proves; nil for
  /// another transport.
  static func serialLine(_ transport: String) -> Check? {
    guard transport.hasPrefix("serial:") else { return nil }
    let device = transport.prefix { $0 != "," }
    return Check(
      name: "serial line", verdict: .information,
      finding: "the controller needs the baud rate and the flow control of the transport, without a command for them",
      remedy: "Without an answer, try the rate that most controllers begin with: \(device),115200")
  }

  /// The check of an adapter that did not open.
  static func failure(_ text: String, name: String = "controller") -> Check {
    // An error of an adapter is what failed and why, a full stop, and what to do.
    guard let end = text.firstRange(of: ". ") else {
      return Check(name: name, verdict: .failure, finding: text)
    }
    return Check(
      name: name, verdict: .failure, finding: String(text[..<end.lowerBound]),
      remedy: String(text[end.upperBound...]))
  }
}
