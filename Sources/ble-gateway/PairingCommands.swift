import BLEKit
import BLELinux
import BLEWire
import ToolCore

/// The commands that make the bond which an operation needs, for the log. The gateway does not pair itself.
struct PairingCommands: Sendable {
  private let arguments: ParsedArguments
  private let bonds: String?

  /// - Parameters:
  ///   - arguments: those of the gateway.
  ///   - bonds: the file of the gateway's bonds; nil if they are in memory.
  init(_ arguments: ParsedArguments, bonds: String?) { (self.arguments, self.bonds) = (arguments, bonds) }

  /// The end of a line of the log about an error of a device; empty if no pairing helps.
  func advice(for error: BLEError, of device: DeviceAddress, with bond: Bond?) -> String {
    guard let bonds, let remedy = PairingRemedy(error, bond: bond, transport: arguments.transport) else { return "" }
    // The tool has a file of its own, unless this variable names another one.
    let environment: (String) -> String? = { $0 == "BLE_BONDS" ? bonds : Environment.value($0) }
    let command = remedy.commandLine(for: device) { arguments.commandLine($0, environment: environment) }
    return ". Stop the gateway, run this command as its user, and start it again: \(command)"
  }
}
