internal import BLEWire

/// A command to the kernel, declared by its parameters in wire order.
protocol ManagementCommand: Packet {
  static var opcode: ManagementOpcode { get }
  static var name: StaticString { get }
}

extension Management {
  /// Every declared command. Add new commands here.
  static let commands: [any ManagementCommand.Type] = [
    ReadIndexList.self, ReadInformation.self, SetPowered.self, SetBondable.self, SetSecureSimplePairing.self,
    SetLowEnergy.self, LoadLongTermKeys.self, Disconnect.self, ReadConnections.self, SetIOCapability.self,
    UnpairDevice.self, UserConfirmationReply.self, UserConfirmationNegativeReply.self, UserPasskeyReply.self,
    UserPasskeyNegativeReply.self, StopDiscovery.self, SetSecureConnections.self, LoadIdentityResolvingKeys.self,
    LoadConnectionParameters.self,
  ]
}

/// A command without parameters.
protocol ParameterlessManagementCommand: ManagementCommand {}

extension ParameterlessManagementCommand {
  mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {}
}

/// A command with one octet: 0 is off, 1 is on; 2 is a third mode of some commands.
protocol ManagementModeCommand: ManagementCommand {
  var mode: UInt8 { get set }
}

extension ManagementModeCommand {
  init(_ mode: UInt8) {
    self.init()
    self.mode = mode
  }

  mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) { try field.integer("Mode", &mode) }
}

/// A command whose only parameter is a device.
protocol ManagementDeviceCommand: ManagementCommand {
  var device: ManagementAddress { get set }
}

extension ManagementDeviceCommand {
  init(_ device: DeviceAddress) {
    self.init()
    self.device = ManagementAddress(device)
  }

  mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) { try device.layout(&field) }
}

extension Management {
  struct ReadIndexList: ParameterlessManagementCommand {
    static let opcode = ManagementOpcode(rawValue: 0x0003)
    static let name: StaticString = "Read Controller Index List"

    struct Response: Packet {
      struct Index: FieldGroup {
        var value: UInt16 = 0
        mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
          try field.integer("Controller_Index[i]", &value)
        }
      }

      var indices: [Index] = []
      mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        var count = UInt16(clamping: indices.count)
        try field.integer("Num_Controllers", &count)
        try field.list("Controller_Index", count: Int(count), &indices)
      }
    }
  }

  struct ReadInformation: ParameterlessManagementCommand {
    static let opcode = ManagementOpcode(rawValue: 0x0004)
    static let name: StaticString = "Read Controller Information"

    /// The class of device and the names follow. They are not needed here.
    struct Response: Packet {
      /// 00:00:00:00:00:00 for a controller without a public address.
      var address = BD_ADDR()
      var version: UInt8 = 0
      var manufacturer: UInt16 = 0
      var supported: AdapterSettings = []
      var current: AdapterSettings = []
      mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try address.layout(&field)
        try field.integer("Bluetooth_Version", &version)
        try field.integer("Manufacturer", &manufacturer)
        try field.value("Supported_Settings", &supported)
        try field.value("Current_Settings", &current)
      }
    }
  }

  struct SetPowered: ManagementModeCommand {
    static let opcode = ManagementOpcode(rawValue: 0x0005)
    static let name: StaticString = "Set Powered"
    var mode: UInt8 = 0
  }

  struct SetBondable: ManagementModeCommand {
    static let opcode = ManagementOpcode(rawValue: 0x0009)
    static let name: StaticString = "Set Bondable"
    var mode: UInt8 = 0
  }

  struct SetSecureSimplePairing: ManagementModeCommand {
    static let opcode = ManagementOpcode(rawValue: 0x000B)
    static let name: StaticString = "Set Secure Simple Pairing"
    var mode: UInt8 = 0
  }

  struct SetLowEnergy: ManagementModeCommand {
    static let opcode = ManagementOpcode(rawValue: 0x000D)
    static let name: StaticString = "Set Low Energy"
    var mode: UInt8 = 0
  }

  /// Replaces the kernel's long term keys with these.
  struct LoadLongTermKeys: ManagementCommand {
    static let opcode = ManagementOpcode(rawValue: 0x0013)
    static let name: StaticString = "Load Long Term Keys"
    var keys: [ManagementLongTermKey] = []
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      var count = UInt16(clamping: keys.count)
      try field.integer("Key_Count", &count)
      try field.list("Key", count: Int(count), &keys)
    }
  }

  struct Disconnect: ManagementDeviceCommand {
    static let opcode = ManagementOpcode(rawValue: 0x0014)
    static let name: StaticString = "Disconnect"
    var device = ManagementAddress()
  }

  struct ReadConnections: ParameterlessManagementCommand {
    static let opcode = ManagementOpcode(rawValue: 0x0015)
    static let name: StaticString = "Get Connections"

    struct Response: Packet {
      var count: UInt16 = 0
      var devices: [ManagementAddress] = []
      mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try field.integer("Connection_Count", &count)
        try field.list("Address", count: Int(count), &devices)
      }
    }
  }

  /// The mode is an IO capability of Vol 3, Part H, 2.3.2.
  struct SetIOCapability: ManagementModeCommand {
    static let opcode = ManagementOpcode(rawValue: 0x0018)
    static let name: StaticString = "Set IO Capability"
    var mode: UInt8 = 0
  }

  struct UnpairDevice: ManagementCommand {
    static let opcode = ManagementOpcode(rawValue: 0x001B)
    static let name: StaticString = "Unpair Device"
    var device = ManagementAddress()
    /// Whether the link to the device also ends.
    var disconnects: UInt8 = 0
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try device.layout(&field)
      try field.integer("Disconnect", &disconnects)
    }
  }

  struct UserConfirmationReply: ManagementDeviceCommand {
    static let opcode = ManagementOpcode(rawValue: 0x001C)
    static let name: StaticString = "User Confirmation Reply"
    var device = ManagementAddress()
  }

  struct UserConfirmationNegativeReply: ManagementDeviceCommand {
    static let opcode = ManagementOpcode(rawValue: 0x001D)
    static let name: StaticString = "User Confirmation Negative Reply"
    var device = ManagementAddress()
  }

  struct UserPasskeyReply: ManagementCommand {
    static let opcode = ManagementOpcode(rawValue: 0x001E)
    static let name: StaticString = "User Passkey Reply"
    var device = ManagementAddress()
    var passkey: UInt32 = 0
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try device.layout(&field)
      try field.integer("Passkey", &passkey)
    }
  }

  struct UserPasskeyNegativeReply: ManagementDeviceCommand {
    static let opcode = ManagementOpcode(rawValue: 0x001F)
    static let name: StaticString = "User Passkey Negative Reply"
    var device = ManagementAddress()
  }

  struct StopDiscovery: ManagementCommand {
    static let opcode = ManagementOpcode(rawValue: 0x0024)
    static let name: StaticString = "Stop Discovery"
    /// Bits: BR/EDR, LE Public, LE Random, as in the ``Discovering`` event.
    var addressTypes: UInt8 = 0
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      try field.integer("Address_Type", &addressTypes)
    }
  }

  /// Mode 2 is Secure Connections only.
  struct SetSecureConnections: ManagementModeCommand {
    static let opcode = ManagementOpcode(rawValue: 0x002D)
    static let name: StaticString = "Set Secure Connections"
    var mode: UInt8 = 0
  }

  /// Replaces the kernel's identity resolving keys with these.
  struct LoadIdentityResolvingKeys: ManagementCommand {
    static let opcode = ManagementOpcode(rawValue: 0x0030)
    static let name: StaticString = "Load Identity Resolving Keys"

    struct Key: FieldGroup {
      var device = ManagementAddress()
      var value: UInt128 = 0
      mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try device.layout(&field)
        try field.integer("Value", &value)
      }
    }

    var keys: [Key] = []
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      var count = UInt16(clamping: keys.count)
      try field.integer("IRK_Count", &count)
      try field.list("IRK", count: Int(count), &keys)
    }
  }
}

extension Management {
  /// Sets the parameters for connections that the kernel makes to the devices, until the adapter is unplugged.
  ///
  /// From kernel 6.11 on, a command with one device leaves the parameters of others unchanged, and changes those of a
  /// link to the device. Earlier kernels first discard the parameters of devices that they do not connect to by
  /// themselves.
  struct LoadConnectionParameters: ManagementCommand {
    static let opcode = ManagementOpcode(rawValue: 0x0035)
    static let name: StaticString = "Load Connection Parameters"

    /// The parameters for one device, in the units of Vol 4, Part E, 7.8.12.
    struct Entry: FieldGroup, Equatable {
      var device = ManagementAddress()
      var minimumInterval: UInt16 = 0
      var maximumInterval: UInt16 = 0
      var latency: UInt16 = 0
      var supervisionTimeout: UInt16 = 0
      mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
        try device.layout(&field)
        try field.integer("Min_Connection_Interval", &minimumInterval)
        try field.integer("Max_Connection_Interval", &maximumInterval)
        try field.integer("Connection_Latency", &latency)
        try field.integer("Supervision_Timeout", &supervisionTimeout)
      }
    }

    var parameters: [Entry] = []
    mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
      var count = UInt16(clamping: parameters.count)
      try field.integer("Param_Count", &count)
      try field.list("Param", count: Int(count), &parameters)
    }
  }
}

/// A long term key in ``Management/LoadLongTermKeys`` and ``Management/NewLongTermKey``.
struct ManagementLongTermKey: FieldGroup {
  /// The pairing that made the key.
  struct Kind: RawRepresentable, Equatable, Sendable {
    var rawValue: UInt8
    static let legacyUnauthenticated = Self(rawValue: 0)
    static let legacyAuthenticated = Self(rawValue: 1)
    static let secureConnectionsUnauthenticated = Self(rawValue: 2)
    static let secureConnectionsAuthenticated = Self(rawValue: 3)
    /// Made with the debug key that the specification publishes.
    static let secureConnectionsDebug = Self(rawValue: 4)
  }

  var device = ManagementAddress()
  var kind = Kind.legacyUnauthenticated
  /// 1 for the key of links on which this device is the central; 0 for the peripheral's key, and for a Secure
  /// Connections key.
  var isCentrals: UInt8 = 0
  /// The size of the key in octets.
  var size: UInt8 = 0
  var ediv: UInt16 = 0
  var rand: UInt64 = 0
  var value: UInt128 = 0

  mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try device.layout(&field)
    try field.value("Key_Type", &kind)
    try field.integer("Central", &isCentrals)
    try field.integer("Encryption_Size", &size)
    try field.integer("Encryption_Diversifier", &ediv)
    try field.integer("Random_Number", &rand)
    try field.integer("Value", &value)
  }
}
