package import BLEWire

/// The pairing after which a failed operation can succeed.
public struct PairingRemedy: Equatable, Sendable {
  /// Whether the bond that is stored here has to be removed before.
  public let removesBond: Bool
  /// Whether the key has to be protected against a device in the middle.
  public let isAuthenticated: Bool

  public init(removesBond: Bool, isAuthenticated: Bool) {
    (self.removesBond, self.isAuthenticated) = (removesBond, isAuthenticated)
  }

  /// The command lines of `ble`.
  ///
  /// - Parameter line: makes a command line of its words.
  package func commandLine(for device: DeviceAddress, _ line: ([String]) -> String) -> String {
    let pair = line(["pair", device.word] + (isAuthenticated ? ["--authenticated"] : []))
    return removesBond ? "\(line(["bonds", "--remove", device.word])) && \(pair)" : pair
  }
}
