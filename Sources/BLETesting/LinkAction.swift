public import BLEATT
public import BLEHCI
import BLETrace
public import BLEWire

/// Something that a device or its peer does on a link, or what to expect of them: a UUID or a value that is nil stands
/// for any.
///
/// ```swift
/// import BLETesting
///
/// /// The program has subscribed before it sends its command.
/// func startsInOrder(_ sensor: TestDevice) async throws {
///   try await sensor.expect(.connected, .subscribed("FFE2"), .written("FFE1", [1]), within: .seconds(10))
/// }
/// ```
public enum LinkAction: Hashable, Sendable, CustomStringConvertible {
  /// The link is established.
  case connected
  /// The link has ended. In an expectation, nil stands for any reason.
  case disconnected(HCIErrorCode? = nil)
  /// The link is encrypted after a pairing.
  case paired
  /// The link is encrypted with a key of before.
  case encrypted
  /// One end has ended the pairing, or the keys of the two ends are not the same.
  case pairingFailed
  /// The client reads the characteristic or one of its descriptors.
  case read(BluetoothUUID? = nil)
  /// The client writes the characteristic, with or without a response. A long value is one action.
  case written(BluetoothUUID? = nil, [UInt8]? = nil)
  /// The client enables notifications or indications of the characteristic.
  case subscribed(BluetoothUUID? = nil)
  /// The client disables them.
  case unsubscribed(BluetoothUUID? = nil)
  /// The server sends a notification or an indication of the characteristic.
  case updated(BluetoothUUID? = nil, [UInt8]? = nil)
  /// The server answers a read or a write of the characteristic with an error.
  case refused(BluetoothUUID? = nil, ATTErrorCode? = nil)

  /// Whether an action is of the kind that this one describes.
  public func includes(_ action: LinkAction) -> Bool {
    switch (self, action) {
    case (.connected, .connected), (.paired, .paired), (.encrypted, .encrypted), (.pairingFailed, .pairingFailed): true
    case (.disconnected(let expected), .disconnected(let reason)): expected == nil || expected == reason
    case (.read(let expected), .read(let uuid)), (.subscribed(let expected), .subscribed(let uuid)),
      (.unsubscribed(let expected), .unsubscribed(let uuid)):
      expected == nil || expected == uuid
    case (.written(let expected, let octets), .written(let uuid, let value)),
      (.updated(let expected, let octets), .updated(let uuid, let value)):
      (expected == nil || expected == uuid) && (octets == nil || octets == value)
    case (.refused(let expected, let code), .refused(let uuid, let other)):
      (expected == nil || expected == uuid) && (code == nil || code == other)
    default: false
    }
  }

  /// `written FFE1 = 01 02`.
  public var description: String {
    switch self {
    case .connected: "connected"
    case .disconnected(let reason): "disconnected" + (reason.map { ": \($0)" } ?? "")
    case .paired: "paired"
    case .encrypted: "encrypted"
    case .pairingFailed: "pairing failed"
    case .read(let uuid): "read\(Self.text(uuid))"
    case .written(let uuid, let value): "written\(Self.text(uuid))\(Self.text(value))"
    case .subscribed(let uuid): "subscribed\(Self.text(uuid))"
    case .unsubscribed(let uuid): "unsubscribed\(Self.text(uuid))"
    case .updated(let uuid, let value): "updated\(Self.text(uuid))\(Self.text(value))"
    case .refused(let uuid, let code): "refused\(Self.text(uuid))" + (code.map { ": \($0)" } ?? "")
    }
  }

  /// The action without its value.
  var kind: String {
    switch self {
    case .written(let uuid, _): "written\(Self.text(uuid))"
    case .updated(let uuid, _): "updated\(Self.text(uuid))"
    default: description
    }
  }

  private static func text(_ uuid: BluetoothUUID?) -> String { uuid.map { " \($0.uuidString)" } ?? "" }

  private static func text(_ value: [UInt8]?) -> String { value.map { " = \($0[...].hexadecimal)" } ?? "" }
}

/// Something that has happened on a link of a device.
public struct LinkActivity: Hashable, Sendable, CustomStringConvertible {
  /// The time since the radio began.
  public var time: Duration
  /// What has happened. A UUID is nil for an attribute that no service has.
  public var action: LinkAction
  /// The address of the other device, as the controller has reported it.
  public var peer: DeviceAddress?
  /// Whether the other device has done it.
  public var isOfPeer: Bool
  /// The number of the packet in the trace of the device, from 1 on.
  public var packet: Int

  /// `1.250000 s: written FFE1 = 01`.
  public var description: String { "\(seconds): \(action)" }

  /// `1.250000 s`.
  var seconds: String { "\(TraceEntry.seconds(time.wholeMicroseconds)) s" }
}
