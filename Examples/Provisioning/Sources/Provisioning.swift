import BLEProfiles
import Glibc

/// A device without keys and screen for text is given the name and the password of a network: over a link that is
/// paired with a passkey or by numeric comparison, with its state as notifications.
@main struct Provisioning {
  static func main() async {
    await Adapter.runProgram {
      let arguments = CommandLine.arguments.dropFirst()
      let compares = arguments.contains("comparison")
      var device = options(compares ? .displayYesNo : .displayOnly)
      var phone = options(compares ? .displayYesNo : .keyboardOnly)
      switch arguments.first(where: { $0 != "comparison" }) {
      case "peripheral": try await ProvisionedDevice(user: .present).serve(on: .open(device))
      case "central": try await Provisioner(user: .present).run(with: .open(phone))
      case nil:
        // Both ends in this process, on the simulated radio. The peripheral ends with this scope.
        (device.transport, phone.transport) = ("virtual:peripheral", "virtual:central")
        device.pairing.fixedPasskey = compares ? nil : User.simulatedPasskey
        async let _ = ProvisionedDevice(user: .simulated).serve(on: .open(device))
        try await Provisioner(user: .simulated).run(with: .open(phone))
      default: print("usage: provisioning [peripheral | central] [comparison] [--transport SPEC]")
      }
    }
  }

  /// Both ends have a display and keys for yes and no, or one has a display and the other one keys for digits.
  static func options(_ capability: PairingOptions.Capability) -> AdapterOptions {
    var options = AdapterOptions()
    // Nobody else pairs: the one who sees the display is the user.
    options.pairing.requiresProtection = true
    options.pairing.allowsLegacy = false
    options.pairing.storage = .memory
    options.pairing.capability = capability
    return options
  }
}

/// The user of one end, who answers the questions of a pairing.
enum User: Sendable {
  /// Someone at the terminal.
  case present
  /// Nobody: with both ends in this process, the other end is the right one.
  case simulated

  static let simulatedPasskey: UInt32 = 483_920

  /// Asks for the digits that the other end shows.
  func digits() -> UInt32? {
    guard self == .present else { return Self.simulatedPasskey }
    print("type the digits that the device shows:")
    return UInt32(line())
  }

  /// Asks whether both ends show the same digits.
  func confirms() -> Bool {
    guard self == .present else { return true }
    print("are both the same? yes or no:")
    return line() == "yes"
  }

  /// A line of the terminal. `readLine` would hold the lock of `stdin`, for which the end of a program waits with the
  /// C library 2.43.
  private func line() -> String {
    var line: [UInt8] = []
    var octet: UInt8 = 0
    while read(0, &octet, 1) == 1, octet != UInt8(ascii: "\n") { line.append(octet) }
    return String(decoding: line, as: UTF8.self)
  }
}
