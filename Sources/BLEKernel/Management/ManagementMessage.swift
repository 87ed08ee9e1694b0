internal import BLEWire

/// The namespace of the kernel's management protocol. Its commands and events have the names of BlueZ's
/// `doc/mgmt-api.txt`.
///
/// Numbers, addresses and keys are sent least significant octet first.
enum Management {
  /// The controller index of messages that do not concern a single controller.
  static let noIndex: UInt16 = 0xFFFF
}

/// A message on the management socket, in either direction: a header of six octets, then the parameters.
struct ManagementMessage: Packet {
  /// The opcode of a command, or the code of an event.
  var code: UInt16 = 0
  /// The controller, or ``Management/noIndex``.
  var index = Management.noIndex
  var parameters: Bytes = []

  init() {}

  init(_ code: ManagementOpcode, _ index: UInt16, _ parameters: Bytes) {
    self.code = code.rawValue
    self.index = index
    self.parameters = parameters
  }

  mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("Code", &code)
    try field.integer("Controller_Index", &index)
    var length = UInt16(clamping: parameters.count)
    try field.integer("Parameter_Length", &length)
    try field.octets("Parameters", count: Int(length), &parameters)
  }
}

/// The number that identifies a command.
struct ManagementOpcode: AssignedNumber {
  var rawValue: UInt16
  init(rawValue: UInt16) { self.rawValue = rawValue }

  static let spaceName: StaticString = "management opcode"
  static let names = Dictionary(
    uniqueKeysWithValues: Management.commands.map { (type: any ManagementCommand.Type) in (type.opcode, type.name) })
}

/// The number that identifies an event.
struct ManagementEventCode: AssignedNumber {
  var rawValue: UInt16
  init(rawValue: UInt16) { self.rawValue = rawValue }

  static let spaceName: StaticString = "management event"
  static let names = Dictionary(
    uniqueKeysWithValues: Management.events.map { (type: any ManagementEvent.Type) in (type.code, type.name) })
}

/// The result of a command.
struct ManagementStatus: AssignedNumber {
  var rawValue: UInt8
  init(rawValue: UInt8) { self.rawValue = rawValue }

  static let success = Self(rawValue: 0x00)
  static let failed = Self(rawValue: 0x03)
  static let busy = Self(rawValue: 0x0A)
  static let rejected = Self(rawValue: 0x0B)
  static let notSupported = Self(rawValue: 0x0C)
  static let invalidIndex = Self(rawValue: 0x11)
  static let blockedByRadioSwitch = Self(rawValue: 0x12)
  static let permissionDenied = Self(rawValue: 0x14)

  static let spaceName: StaticString = "management status"
  static let names: [Self: StaticString] = [
    .success: "Success", Self(rawValue: 0x01): "Unknown Command", Self(rawValue: 0x02): "Not Connected",
    .failed: "Failed", Self(rawValue: 0x04): "Connect Failed", Self(rawValue: 0x05): "Authentication Failed",
    Self(rawValue: 0x06): "Not Paired", Self(rawValue: 0x07): "No Resources", Self(rawValue: 0x08): "Timeout",
    Self(rawValue: 0x09): "Already Connected", .busy: "Busy", .rejected: "Rejected", .notSupported: "Not Supported",
    Self(rawValue: 0x0D): "Invalid Parameters", Self(rawValue: 0x0E): "Disconnected",
    Self(rawValue: 0x0F): "Not Powered", Self(rawValue: 0x10): "Cancelled", .invalidIndex: "Invalid Index",
    .blockedByRadioSwitch: "RFKilled", Self(rawValue: 0x13): "Already Paired", .permissionDenied: "Permission Denied",
  ]
}

/// A device: its address, then the type of the address.
struct ManagementAddress: FieldGroup {
  /// The types of addresses: BR/EDR 0, LE Public 1, LE Random 2.
  struct Kind: RawRepresentable, Equatable, Sendable {
    var rawValue: UInt8
    static let lowEnergyPublic = Self(rawValue: 1)
    static let lowEnergyRandom = Self(rawValue: 2)
  }

  var address = BD_ADDR()
  var kind = Kind.lowEnergyPublic

  init() {}

  init(_ device: DeviceAddress) {
    address = device.octets
    kind = device.kind == .random ? .lowEnergyRandom : .lowEnergyPublic
  }

  /// The device; nil for a BR/EDR device.
  var device: DeviceAddress? {
    switch kind {
    case .lowEnergyPublic: DeviceAddress(octets: address, kind: .public)
    case .lowEnergyRandom: DeviceAddress(octets: address, kind: .random)
    default: nil
    }
  }

  mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try address.layout(&field)
    try field.value("Address_Type", &kind)
  }
}

/// Settings of a controller, as bits.
struct AdapterSettings: OptionSet, Sendable {
  let rawValue: UInt32
  static let powered = Self(rawValue: 1 << 0)
  static let bondable = Self(rawValue: 1 << 4)
  static let secureSimplePairing = Self(rawValue: 1 << 6)
  static let lowEnergy = Self(rawValue: 1 << 9)
  static let secureConnections = Self(rawValue: 1 << 11)
  static let staticAddress = Self(rawValue: 1 << 15)
}
