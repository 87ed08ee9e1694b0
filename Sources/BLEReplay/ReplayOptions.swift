package import BLEATT
import BLETrace
package import BLEWire

/// How a session is repeated.
package struct ReplayOptions: Sendable {
  /// The longest pause between two packets of the central. Shorter pauses of the trace are kept: the program may act on
  /// time.
  package var longestPause = Duration.seconds(5)
  /// How long a value that the device sent in the trace is waited for, after the pause.
  package var valueTime = Duration.seconds(5)
  /// The attributes whose values are not compared: those that are random, or measured.
  package var ignoredTypes: Set<BluetoothUUID> = []
  package var ignoredHandles: Set<AttributeHandle> = []
  /// How long the search for the device and the attempts to connect may take.
  package var connectionTime = Duration.seconds(30)

  /// How long the link stays at least after the last packet of the central: for a value that the trace does not have.
  static let shortestEnd = Duration.milliseconds(500)

  package init() {}

  /// Whether what follows from a bond that is older than the link is not compared: the values that a server keeps for a
  /// bonded client (Vol 3, Part G, 3.3.3.3 and 7.2), and by which of two codes it refuses a client on a link without
  /// encryption.
  var ignoresBondState = false

  var ignoresAny: Bool { ignoresBondState || !ignoredTypes.isEmpty || !ignoredHandles.isEmpty }

  /// Whether the value of an attribute is not compared.
  func ignores(_ handle: AttributeHandle, in session: RecordedSession) -> Bool {
    ignoredHandles.contains(handle) || session.types[handle].map(ignores) ?? false
  }

  /// Whether the values of this type are not compared.
  func ignores(_ type: BluetoothUUID) -> Bool {
    ignoredTypes.contains(type) || ignoresBondState && (type == "2902" || type == "2B29")
  }
}
