internal import BLEWire

/// An event from the kernel, declared by its parameters in wire order.
protocol ManagementEvent: Packet {
  static var code: ManagementEventCode { get }
  static var name: StaticString { get }
}

extension Management {
  /// An event of the kernel.
  enum Event: Sendable {
    case commandComplete(CommandComplete)
    case commandStatus(CommandStatus)
    case indexAdded(IndexAdded)
    case indexRemoved(IndexRemoved)
    case newSettings(NewSettings)
    case classOfDeviceChanged(ClassOfDeviceChanged)
    case localNameChanged(LocalNameChanged)
    case newLongTermKey(NewLongTermKey)
    case deviceConnected(DeviceConnected)
    case userConfirmationRequest(UserConfirmationRequest)
    case userPasskeyRequest(UserPasskeyRequest)
    case authenticationFailed(AuthenticationFailed)
    case discovering(Discovering)
    case passkeyNotify(PasskeyNotify)
    case newIdentityResolvingKey(NewIdentityResolvingKey)
    case newSignatureResolvingKey(NewSignatureResolvingKey)
  }

  /// The events by their codes.
  enum EventKind: UInt16, CaseIterable {
    case commandComplete = 0x0001
    case commandStatus = 0x0002
    case indexAdded = 0x0004
    case indexRemoved = 0x0005
    case newSettings = 0x0006
    case classOfDeviceChanged = 0x0007
    case localNameChanged = 0x0008
    case newLongTermKey = 0x000A
    case deviceConnected = 0x000B
    case userConfirmationRequest = 0x000F
    case userPasskeyRequest = 0x0010
    case authenticationFailed = 0x0011
    case discovering = 0x0013
    case passkeyNotify = 0x0017
    case newIdentityResolvingKey = 0x0018
    case newSignatureResolvingKey = 0x0019
  }

  /// Decodes the event in `message`. Octets after the last field are ignored, because later kernels add fields.
  ///
  /// - Returns: nil for an event that is not declared, or an event whose parameters are malformed.
  static func event(_ message: ManagementMessage) -> Event? {
    var octets = message.parameters
    func decoded<Parameters: ManagementEvent>(_ event: (Parameters) -> Event) -> Event? {
      (try? Parameters(decodingPrefixOf: &octets)).map(event)
    }
    return switch EventKind(rawValue: message.code) {
    case .commandComplete: decoded(Event.commandComplete)
    case .commandStatus: decoded(Event.commandStatus)
    case .indexAdded: decoded(Event.indexAdded)
    case .indexRemoved: decoded(Event.indexRemoved)
    case .newSettings: decoded(Event.newSettings)
    case .classOfDeviceChanged: decoded(Event.classOfDeviceChanged)
    case .localNameChanged: decoded(Event.localNameChanged)
    case .newLongTermKey: decoded(Event.newLongTermKey)
    case .deviceConnected: decoded(Event.deviceConnected)
    case .userConfirmationRequest: decoded(Event.userConfirmationRequest)
    case .userPasskeyRequest: decoded(Event.userPasskeyRequest)
    case .authenticationFailed: decoded(Event.authenticationFailed)
    case .discovering: decoded(Event.discovering)
    case .passkeyNotify: decoded(Event.passkeyNotify)
    case .newIdentityResolvingKey: decoded(Event.newIdentityResolvingKey)
    case .newSignatureResolvingKey: decoded(Event.newSignatureResolvingKey)
    case nil: nil
    }
  }

  /// The types of all events, for their names.
  static let events: [any ManagementEvent.Type] = [
    CommandComplete.self, CommandStatus.self, IndexAdded.self, IndexRemoved.self, NewSettings.self,
    ClassOfDeviceChanged.self, LocalNameChanged.self, NewLongTermKey.self, DeviceConnected.self,
    UserConfirmationRequest.self, UserPasskeyRequest.self, AuthenticationFailed.self, Discovering.self,
    PasskeyNotify.self, NewIdentityResolvingKey.self, NewSignatureResolvingKey.self,
  ]

  /// The answer to a command that has succeeded, or has failed after it started.
  struct CommandComplete: ManagementEvent {
    static let code = ManagementEventCode(rawValue: 0x0001)
    static let name: StaticString = "Command Complete"
    var opcode = ManagementOpcode(rawValue: 0)
    var status = ManagementStatus.success
    var returnParameters: Bytes = []
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Command_Opcode", &opcode)
      try field.value("Status", &status)
      try field.rest("Return_Parameters", &returnParameters)
    }
  }

  /// The answer to a command that has failed.
  struct CommandStatus: ManagementEvent {
    static let code = ManagementEventCode(rawValue: 0x0002)
    static let name: StaticString = "Command Status"
    var opcode = ManagementOpcode(rawValue: 0)
    var status = ManagementStatus.success
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Command_Opcode", &opcode)
      try field.value("Status", &status)
    }
  }

  struct IndexAdded: ParameterlessManagementEvent {
    static let code = ManagementEventCode(rawValue: 0x0004)
    static let name: StaticString = "Index Added"
  }

  struct IndexRemoved: ParameterlessManagementEvent {
    static let code = ManagementEventCode(rawValue: 0x0005)
    static let name: StaticString = "Index Removed"
  }

  struct NewSettings: ManagementEvent {
    static let code = ManagementEventCode(rawValue: 0x0006)
    static let name: StaticString = "New Settings"
    var settings: AdapterSettings = []
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.value("Current_Settings", &settings)
    }
  }

  /// The class has changed: a program has set the adapter up, as bluetoothd does when it starts. The class itself is
  /// not needed here.
  struct ClassOfDeviceChanged: ParameterlessManagementEvent {
    static let code = ManagementEventCode(rawValue: 0x0007)
    static let name: StaticString = "Class Of Device Changed"
  }

  /// The name has changed: a program has set the adapter up, as bluetoothd does when it starts. The name itself is not
  /// needed here.
  struct LocalNameChanged: ParameterlessManagementEvent {
    static let code = ManagementEventCode(rawValue: 0x0008)
    static let name: StaticString = "Local Name Changed"
  }

  struct NewLongTermKey: ManagementEvent {
    static let code = ManagementEventCode(rawValue: 0x000A)
    static let name: StaticString = "New Long Term Key"
    /// 1 if the key is to be stored.
    var storeHint: UInt8 = 0
    var key = ManagementLongTermKey()
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Store_Hint", &storeHint)
      try key.layout(&field)
    }
  }

  /// The kernel has a link. The advertising data of the device follows. It is not needed here.
  struct DeviceConnected: ManagementEvent {
    static let code = ManagementEventCode(rawValue: 0x000B)
    static let name: StaticString = "Device Connected"
    /// Bit 3: this device made the connection.
    static let locallyInitiated: UInt32 = 1 << 3
    /// The identity if the kernel can resolve the address of the device.
    var device = ManagementAddress()
    var flags: UInt32 = 0
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try device.layout(&field)
      try field.integer("Flags", &flags)
    }
  }

  struct UserConfirmationRequest: ManagementEvent {
    static let code = ManagementEventCode(rawValue: 0x000F)
    static let name: StaticString = "User Confirmation Request"
    var device = ManagementAddress()
    /// 1 for Just Works: there is nothing to compare.
    var confirmHint: UInt8 = 0
    var value: UInt32 = 0
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try device.layout(&field)
      try field.integer("Confirm_Hint", &confirmHint)
      try field.integer("Value", &value)
    }
  }

  struct UserPasskeyRequest: ManagementEvent {
    static let code = ManagementEventCode(rawValue: 0x0010)
    static let name: StaticString = "User Passkey Request"
    var device = ManagementAddress()
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) { try device.layout(&field) }
  }

  struct AuthenticationFailed: ManagementEvent {
    static let code = ManagementEventCode(rawValue: 0x0011)
    static let name: StaticString = "Authentication Failed"
    var device = ManagementAddress()
    var status = ManagementStatus.success
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try device.layout(&field)
      try field.value("Status", &status)
    }
  }

  /// The kernel's own discovery begins or ends.
  struct Discovering: ManagementEvent {
    static let code = ManagementEventCode(rawValue: 0x0013)
    static let name: StaticString = "Discovering"
    /// Bits: BR/EDR, LE Public, LE Random.
    var addressTypes: UInt8 = 0
    var isDiscovering: UInt8 = 0
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Address_Type", &addressTypes)
      try field.integer("Discovering", &isDiscovering)
    }
  }

  struct PasskeyNotify: ManagementEvent {
    static let code = ManagementEventCode(rawValue: 0x0017)
    static let name: StaticString = "Passkey Notify"
    var device = ManagementAddress()
    var passkey: UInt32 = 0
    /// The number of digits that the other device has entered.
    var entered: UInt8 = 0
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try device.layout(&field)
      try field.integer("Passkey", &passkey)
      try field.integer("Entered", &entered)
    }
  }

  struct NewIdentityResolvingKey: ManagementEvent {
    static let code = ManagementEventCode(rawValue: 0x0018)
    static let name: StaticString = "New Identity Resolving Key"
    var storeHint: UInt8 = 0
    /// The address that the device used; zero if it used its identity address.
    var randomAddress = BD_ADDR()
    var device = ManagementAddress()
    var value: UInt128 = 0
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Store_Hint", &storeHint)
      try randomAddress.layout(&field)
      try device.layout(&field)
      try field.integer("Value", &value)
    }
  }

  struct NewSignatureResolvingKey: ManagementEvent {
    static let code = ManagementEventCode(rawValue: 0x0019)
    static let name: StaticString = "New Signature Resolving Key"
    var storeHint: UInt8 = 0
    var device = ManagementAddress()
    /// 0 and 2 are this device's keys, unauthenticated and authenticated; 1 and 3 are the peer's.
    var kind: UInt8 = 0
    var value: UInt128 = 0
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Store_Hint", &storeHint)
      try device.layout(&field)
      try field.integer("Type", &kind)
      try field.integer("Value", &value)
    }
  }
}

/// An event whose parameters are not needed here.
protocol ParameterlessManagementEvent: ManagementEvent {}

extension ParameterlessManagementEvent {
  mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {}
}
