import BLEAssignedNumbers
package import BLEKit
package import BLETrace
package import BLEWire
import Glibc
import ToolCore

/// The peripheral that a file describes: its name, its advertisement, its services with their values.
///
/// ```json
/// {"name": "Thermometer", "appearance": 768,
///  "services": [{"uuid": "181A", "characteristics": [
///    {"uuid": "2A6E", "properties": ["read", "notify"], "value": "21.5 °C"},
///    {"uuid": "String", "properties": ["read", "write"], "value": "text:on", "security": "encrypted"}]}]}
/// ```
///
/// A description whose services have handles is the copy of a device, a *twin*: it has the whole database of that
/// device, Generic Access and Generic Attribute among it, and can have its behaviour: successive values
/// (``Characteristic/reads``), what follows a subscription (``Characteristic/subscriptions``), and the answers to
/// writes (``Characteristic/writes``).
package struct ServiceDescription: Equatable, Sendable {
  /// The fields of the file.
  package static let fields = [
    "name", "appearance", "passkey", "advertise", "advertising", "periodic", "address", "mtu", "connection", "pairing",
    "services",
  ]
  package var name: String
  package var appearance: UInt16?
  /// Six digits for every pairing; nil for new digits in each pairing.
  package var passkey: UInt32?
  /// The UUIDs in the advertisement; nil for those of all primary services.
  package var advertise: [BluetoothUUID]?
  /// The octets of the advertisement, instead of those of name and services.
  package var advertising: Advertising?
  /// The periodic advertising beside the advertisement; nil for none.
  package var periodic: Periodic?
  package var address: Address?
  /// The greatest ATT_MTU, in octets.
  package var mtu: UInt16?
  package var connection: Connection?
  package var pairing: Pairing?
  package var services: [Service]

  /// An advertisement as octets.
  package struct Advertising: Equatable, Sendable {
    package static let fields = ["data", "scan_response", "interval", "extended", "connectable"]
    package var data: [UInt8] = []
    package var scanResponse: [UInt8] = []
    /// In milliseconds.
    package var interval: UInt16?
    package var isExtended = false
    package var isConnectable = true
  }

  /// A periodic advertising train (Vol 6, Part B, 4.4.2.12).
  package struct Periodic: Equatable, Sendable {
    package static let fields = ["data", "interval"]
    package var data: [UInt8]
    /// In milliseconds.
    package var interval: UInt32 = 100
  }

  /// The address of the device, or its kind.
  package enum Address: Equatable, Sendable {
    /// The address of the controller.
    case publicAddress
    /// A static random address that belongs to the description.
    case staticRandom
    /// Resolvable private addresses.
    case resolvable
    /// This static random address.
    case given(BD_ADDR)
  }

  /// The timing that the peripheral requests.
  package struct Connection: Equatable, Sendable {
    package static let fields = ["after", "interval", "latency", "timeout"]
    /// In milliseconds after the connection; 0 in an ``Update``, which has a delay of its own.
    package var delay: UInt32
    /// In units of 1.25 ms.
    package var interval: ClosedRange<UInt16>
    package var latency: UInt16
    /// In units of 10 ms.
    package var timeout: UInt16
  }

  /// How the peripheral pairs.
  package struct Pairing: Equatable, Sendable {
    package static let fields = ["enabled", "capability", "bonding", "secure_connections", "request_after"]
    package var isEnabled = true
    package var capability: Capability?
    package var isBonding = true
    package var hasSecureConnections = true
    /// The milliseconds from the connection to the Security Request; nil for none.
    package var requestDelay: UInt32?

    package enum Capability: String, CaseIterable, Sendable {
      case none, display, keyboard
      case displayYesNo = "display_yes_no"
      case keyboardDisplay = "keyboard_display"

      package var option: PairingOptions.Capability {
        switch self {
        case .none: .none
        case .display: .displayOnly
        case .displayYesNo: .displayYesNo
        case .keyboard: .keyboardOnly
        case .keyboardDisplay: .keyboardDisplay
        }
      }
    }
  }

  package struct Service: Equatable, Sendable {
    package static let fields = ["uuid", "primary", "handle", "end", "includes", "characteristics"]
    package var uuid: BluetoothUUID
    package var isPrimary: Bool
    /// The first and the last handle; nil lets the adapter choose.
    package var handles: ClosedRange<UInt16>?
    package var includes: [Include] = []
    package var characteristics: [Characteristic]

    package init(uuid: BluetoothUUID, isPrimary: Bool, characteristics: [Characteristic]) {
      (self.uuid, self.isPrimary, self.characteristics) = (uuid, isPrimary, characteristics)
    }
  }

  /// An include declaration (Vol 3, Part G, 3.2).
  package struct Include: Equatable, Sendable {
    package static let fields = ["handle", "value"]
    package var handle: UInt16
    package var value: [UInt8]
  }

  package struct Characteristic: Equatable, Sendable {
    package static let fields = [
      "uuid", "properties", "value", "exec", "every", "security", "description", "handle", "value_handle",
      "more_properties", "descriptors", "secures", "refusal", "reads", "subscriptions", "writes",
    ]
    package var uuid: BluetoothUUID
    package var properties: [Property]
    /// In the file: the forms of ``TypedValue``.
    package var value: [UInt8]
    /// The command that prints the value, instead of a value in the file.
    package var command: String?
    /// How often it runs while a client is subscribed, in seconds.
    package var period: UInt32 = Self.standardPeriod
    package static let standardPeriod: UInt32 = 10
    /// The security that reads, writes and subscriptions need.
    package var security: Security
    /// The text of the Characteristic User Description.
    package var description: String?

    // Of a description with handles.
    /// The handle of the declaration.
    package var handle: UInt16?
    /// The handle of the value; nil for that after ``handle``.
    package var valueHandle: UInt16?
    package var otherProperties: [OtherProperty] = []
    package var descriptors: [Descriptor] = []
    /// The procedures that need ``security``.
    package var secures = Set(Access.allCases)
    /// The ATT error for a link without ``security``; nil for that of the specification.
    package var refusal: UInt8?
    /// The answers to successive reads, instead of ``value``: the last one is repeated.
    package var reads: [ReadAnswer] = []
    /// What is sent after the first subscription, the second one and so on; the last one is repeated.
    package var subscriptions: [[Update]] = []
    /// The answers to writes. Several for one value are used in their order; the last one is repeated.
    package var writes: [Write] = []

    package init(
      uuid: BluetoothUUID, properties: [Property], value: [UInt8], security: Security = .none,
      description: String? = nil
    ) {
      (self.uuid, self.properties, self.value) = (uuid, properties, value)
      (self.security, self.description) = (security, description)
    }
  }

  /// A descriptor of a description with handles. That of type 0x2902 has a value for each client.
  package struct Descriptor: Equatable, Sendable {
    package static let fields = ["uuid", "handle", "value"]
    package var uuid: BluetoothUUID
    package var handle: UInt16
    package var value: [UInt8]
  }

  /// The answer to a read.
  package enum ReadAnswer: Equatable, Sendable {
    case value([UInt8])
    /// An ATT error.
    case error(UInt8)
  }

  /// A value that is sent to a client, a request to it, or the end of its link, some time after something else.
  package struct Update: Equatable, Sendable {
    package static let fields = [
      "after", "handle", "value", "before_answer", "disconnect", "security_request", "connection",
    ]
    /// In milliseconds.
    package var delay: UInt32
    /// The handle of the value; nil for the characteristic that the update is in.
    package var handle: UInt16?
    package var value: [UInt8] = []
    /// Whether it is sent before the answer to the write.
    package var isBeforeAnswer = false
    /// Whether the device ends the link instead.
    package var disconnects = false
    /// Whether the device sends a Security Request instead.
    package var requestsSecurity = false
    /// The timing that the device requests instead.
    package var connection: Connection?

    /// Whether a value is sent.
    package var isValue: Bool { !disconnects && !requestsSecurity && connection == nil }
  }

  /// The answer to the write of a value.
  package struct Write: Equatable, Sendable {
    package static let fields = ["value", "error", "delay", "then", "reads"]
    package var value: [UInt8]
    /// An ATT error; nil for a write that is accepted.
    package var error: UInt8?
    /// The milliseconds to the answer.
    package var delay: UInt32 = 0
    /// What is sent after the write, in the order of time.
    package var updates: [Update] = []
    /// The answers to reads from then on, by the handles of the values.
    package var reads: [Values] = []

    package struct Values: Equatable, Sendable {
      package static let fields = ["handle", "values"]
      package var handle: UInt16
      package var values: [ReadAnswer]
    }
  }

  package enum Property: String, CaseIterable, Sendable {
    case read, write, notify, indicate
    case writeWithoutResponse = "write_without_response"
  }

  /// The properties that only a description with handles can have.
  package enum OtherProperty: String, CaseIterable, Sendable {
    case broadcast
    case signedWrite = "signed_write"
    case extended
  }

  /// The procedures that can need security.
  package enum Access: String, CaseIterable, Sendable { case read, write, subscribe }

  package typealias Security = SeenDevice.Security

  /// Whether the description has the handles of its attributes.
  package var hasHandles: Bool { services.contains { $0.handles != nil } }

  /// Whether a characteristic needs a key that is protected against a device in the middle.
  package var needsAuthentication: Bool {
    services.contains { $0.characteristics.contains { $0.security == .authenticated } }
  }

  /// Whether everything except the values is the same.
  package func hasStructure(of other: Self) -> Bool { withoutValues == other.withoutValues }

  private var withoutValues: Self {
    var copy = self
    for service in copy.services.indices {
      for characteristic in copy.services[service].characteristics.indices {
        copy.services[service].characteristics[characteristic].value = []
      }
    }
    return copy
  }

  /// An example that works.
  package static let example = """
    {
      "name": "Thermometer",
      "appearance": 768,
      "services": [
        {
          "uuid": "181A",
          "characteristics": [
            {
              "uuid": "2A6E", "properties": ["read", "notify"], "value": "21.50 °C",
              "description": "Room temperature"
            },
            {"uuid": "2A3D", "properties": ["read", "write"], "value": "text:kitchen"}
          ]
        },
        {
          "uuid": "180F",
          "characteristics": [{"uuid": "2A19", "properties": ["read", "notify"], "value": "100 %"}]
        }
      ]
    }
    """
}
