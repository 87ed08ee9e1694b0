/// HID over GATT: the Human Interface Device Service (HIDS 1.0) and the other requirements of the profile (HOGP 1.0).
///
/// A host discovers the service, reads the report map and subscribes to the input reports. All values require an
/// encrypted link (HOGP 1.0, 6.1): the host pairs first. The device also has a Battery Service and a Device Information
/// Service with a PnP ID (HOGP 1.0, 3).
///
/// ```swift
/// let keyboard = HumanInterfaceDevice.localService(
///   .keyboard, reports: [
///     .input(1, length: 8) { subscriber in
///       try await subscriber.send(KeyboardReport(keys: [.a]))
///       try await subscriber.send(KeyboardReport())
///     }
///   ])
/// ```
public enum HumanInterfaceDevice {
  /// The service, 0x1812.
  public static let service: BluetoothUUID = "1812"
  /// HID Information, 0x2A4A: read.
  public static let information = ProfileCharacteristic<HIDInformation>("2A4A", in: service)
  /// Report Map, 0x2A4B: read.
  public static let reportMap = ProfileCharacteristic<[UInt8]>("2A4B", in: service)
  /// HID Control Point, 0x2A4C: written without response.
  public static let controlPoint = ProfileCharacteristic<HIDControl>("2A4C", in: service)
  /// Report, 0x2A4D: one for each report, distinguished by the descriptor Report Reference (0x2908).
  public static let report = ProfileCharacteristic<[UInt8]>("2A4D", in: service)
  /// Protocol Mode, 0x2A4E: read, written without response. Required for devices with boot reports.
  public static let protocolMode = ProfileCharacteristic<HIDProtocolMode>("2A4E", in: service)
  /// Boot Keyboard Input Report, 0x2A22: read, notified.
  public static let bootKeyboardInput = ProfileCharacteristic<KeyboardReport>("2A22", in: service)
  /// Boot Keyboard Output Report, 0x2A32: read, written with and without response.
  public static let bootKeyboardOutput = ProfileCharacteristic<KeyboardLEDs>("2A32", in: service)
  /// Boot Mouse Input Report, 0x2A33: read, notified.
  public static let bootMouseInput = ProfileCharacteristic<[UInt8]>("2A33", in: service)

  /// The octets that describe the reports of a device (USB HID 1.11, 6.2.2), at most 512.
  public struct ReportMap: Hashable, Sendable {
    /// The items of the report descriptor.
    public var octets: [UInt8]

    /// A report descriptor.
    public init(octets: [UInt8]) { self.octets = octets }

    /// A keyboard with the reports of the boot protocol: report 1 has eight octets of input (``KeyboardReport``) and
    /// one octet of output (``KeyboardLEDs``).
    public static let keyboard = Self(octets: [
      0x05, 0x01, 0x09, 0x06, 0xA1, 0x01, 0x85, 0x01,  // Desktop, Keyboard, collection, Report ID 1
      0x05, 0x07, 0x19, 0xE0, 0x29, 0xE7, 0x15, 0x00, 0x25, 0x01,  // Keyboard page: modifiers 0xE0 to 0xE7, 0 or 1
      0x75, 0x01, 0x95, 0x08, 0x81, 0x02,  // 8 fields of 1 bit, Input (Data, Variable)
      0x75, 0x08, 0x95, 0x01, 0x81, 0x01,  // 1 field of 8 bits, Input (Constant)
      0x05, 0x08, 0x19, 0x01, 0x29, 0x05, 0x75, 0x01, 0x95, 0x05, 0x91, 0x02,  // LEDs 1 to 5, Output (Data, Variable)
      0x75, 0x03, 0x95, 0x01, 0x91, 0x01,  // 1 field of 3 bits, Output (Constant)
      0x05, 0x07, 0x19, 0x00, 0x2A, 0xFF, 0x00, 0x15, 0x00, 0x26, 0xFF, 0x00,  // Keyboard page: keys 0 to 255
      0x75, 0x08, 0x95, 0x06, 0x81, 0x00,  // 6 fields of 8 bits, Input (Data, Array)
      0xC0,  // End Collection
    ])

    /// The keys of a remote control: report 2 has two octets of input (``ConsumerReport``).
    public static let consumerControl = Self(octets: [
      0x05, 0x0C, 0x09, 0x01, 0xA1, 0x01, 0x85, 0x02,  // Consumer, Control, collection, Report ID 2
      0x19, 0x00, 0x2A, 0xFF, 0x03, 0x15, 0x00, 0x26, 0xFF, 0x03,  // usages 0 to 0x3FF
      0x75, 0x10, 0x95, 0x01, 0x81, 0x00,  // 1 field of 16 bits, Input (Data, Array)
      0xC0,  // End Collection
    ])

    /// Both collections, one after the other.
    public static func + (a: Self, b: Self) -> Self { Self(octets: a.octets + b.octets) }
  }

  /// A report of a device.
  public struct Report: Sendable {
    /// The identifier and the type, the value of the descriptor Report Reference.
    public var reference: HIDReportReference
    let characteristic: @Sendable (RequiredSecurity) -> LocalCharacteristic

    /// An input report: the device notifies it.
    ///
    /// - Parameters:
    ///   - id: the identifier in the report map; 0 if the map has none.
    ///   - length: the length of the report in octets. A host that reads the report gets as many zeros.
    ///   - send: runs for each host that subscribes, and sends it the reports.
    public static func input(
      _ id: UInt8, length: Int, _ send: @escaping @Sendable (Subscriber) async throws -> Void
    ) -> Self {
      let reference = HIDReportReference(id: id, kind: .input)
      return Self(reference: reference) { security in
        reference.characteristic
          .readSynchronously(security: security) { _ in [UInt8](repeating: 0, count: min(max(length, 0), 512)) }
          .notify(security: security, send)
      }
    }

    /// An output report: the host writes it, with or without response.
    public static func output(
      _ id: UInt8, read: @escaping @Sendable () -> [UInt8],
      _ received: @escaping @Sendable ([UInt8], RemoteDevice) async throws -> Void
    ) -> Self {
      let reference = HIDReportReference(id: id, kind: .output)
      return Self(reference: reference) { security in
        reference.characteristic.read(security: security) { _ in read() }
          .write(kinds: [.withResponse, .withoutResponse], security: security) { try await received($0, $1) }
      }
    }

    /// A feature report: the host reads and writes it.
    public static func feature(
      _ id: UInt8, read: @escaping @Sendable () -> [UInt8],
      _ received: @escaping @Sendable ([UInt8], RemoteDevice) async throws -> Void
    ) -> Self {
      let reference = HIDReportReference(id: id, kind: .feature)
      return Self(reference: reference) { security in
        reference.characteristic.read(security: security) { _ in read() }
          .write(security: security) { try await received($0, $1) }
      }
    }
  }

  /// The service of a device in the report protocol.
  ///
  /// - Parameters:
  ///   - map: the report map.
  ///   - reports: the reports that the map describes.
  ///   - information: the version, the country and the flags.
  ///   - security: the security that the link must have; the profile requires at least ``RequiredSecurity/encrypted``.
  ///   - suspended: is called when the host suspends (true) or resumes (false).
  public static func localService(
    _ map: ReportMap, reports: [Report], information: HIDInformation = HIDInformation(),
    security: RequiredSecurity = .encrypted, suspended: (@Sendable (Bool, RemoteDevice) async -> Void)? = nil
  ) -> LocalService {
    let mode = HIDProtocolMode.report
    return LocalService(
      service,
      [
        LocalCharacteristic(Self.information).value(information, security: security),
        LocalCharacteristic(reportMap).value(map.octets, security: security),
        LocalCharacteristic(controlPoint)
          .write(HIDControl.self, kinds: .withoutResponse, security: security) { command, device in
            await suspended?(command == .suspend, device)
          },
        // Without boot reports, the mode never changes.
        LocalCharacteristic(protocolMode).readSynchronously(security: security) { _ in mode }
          .write(HIDProtocolMode.self, kinds: .withoutResponse, security: security) { _, _ in },
      ] + reports.map { $0.characteristic(security) })
  }
}

extension HIDReportReference {
  fileprivate var characteristic: LocalCharacteristic {
    LocalCharacteristic(HumanInterfaceDevice.report, descriptors: [LocalDescriptor("2908", value: octets)])
  }
}

extension RemoteDevice {
  /// The report characteristics of the device with their references (HOGP 1.0, 5.3).
  public func hidReports() async throws(BLEError) -> [(
    reference: HIDReportReference, characteristic: RemoteCharacteristic
  )] {
    var reports: [(reference: HIDReportReference, characteristic: RemoteCharacteristic)] = []
    let service = try await self.service(HumanInterfaceDevice.service)
    for characteristic in service.characteristics where characteristic.uuid == HumanInterfaceDevice.report.uuid {
      for descriptor in try await descriptors(of: characteristic) where descriptor.uuid == "2908" {
        guard let reference = HIDReportReference(octets: try await read(descriptor)) else { continue }
        reports.append((reference, characteristic))
      }
    }
    return reports
  }
}

/// The value of HID Information (0x2A4A), four octets (HIDS 1.0, 2.10).
public struct HIDInformation: ProfileValue {
  /// The version of the USB HID specification in binary coded decimal: 1.11 is 0x0111.
  public var version: UInt16 = 0x0111
  /// The country of the keyboard layout (USB HID 1.11, 6.2.1); 0 means none.
  public var countryCode: UInt8 = 0
  /// The abilities of the device.
  public var flags: Flags = [.normallyConnectable]

  /// The abilities of a device.
  public struct Flags: AssignedBits {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// RemoteWake: the device can wake the host.
    public static let remoteWake = Self(rawValue: 1)
    /// NormallyConnectable: the device advertises when it is bonded and not connected.
    public static let normallyConnectable = Self(rawValue: 2)
    public static let names: [Self: StaticString] = [
      .remoteWake: "Remote Wake", .normallyConnectable: "Normally Connectable",
    ]
  }

  /// Version 1.11, no country, normally connectable.
  public init() {}

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("bcdHID", &version)
    try field.integer("bCountryCode", &countryCode)
    try field.value("Flags", &flags)
  }
}

/// The value of the descriptor Report Reference (0x2908), two octets (HIDS 1.0, 2.5.3.2).
public struct HIDReportReference: ProfileValue {
  /// The identifier in the report map; 0 if the map has none.
  public var id: UInt8 = 0
  /// The type of the report.
  public var kind = Kind.input

  /// The types of reports.
  public enum Kind: UInt8, Sendable {
    /// From the device to the host.
    case input = 1
    /// From the host to the device.
    case output = 2
    /// In both directions.
    case feature = 3
  }

  /// Input report 0.
  public init() {}

  /// A report.
  public init(id: UInt8, kind: Kind) { (self.id, self.kind) = (id, kind) }

  public mutating func layout<V: FieldVisitor>(_ field: inout V) throws(V.Failure) {
    try field.integer("Report ID", &id)
    try field.value("Report Type", &kind)
  }
}

/// The value of HID Control Point (0x2A4C), one octet (HIDS 1.0, 2.11).
public enum HIDControl: UInt8, GATTValue {
  /// The host suspends.
  case suspend = 0
  /// The host resumes.
  case exitSuspend = 1

  public init?(octets: [UInt8]) {
    guard octets.count == 1, let octet = octets.first else { return nil }
    self.init(rawValue: octet)
  }
  public var octets: [UInt8] { [rawValue] }
}

/// The value of Protocol Mode (0x2A4E), one octet (HIDS 1.0, 2.4).
public enum HIDProtocolMode: UInt8, GATTValue {
  /// Boot Protocol Mode.
  case boot = 0
  /// Report Protocol Mode.
  case report = 1

  public init?(octets: [UInt8]) {
    guard octets.count == 1, let octet = octets.first else { return nil }
    self.init(rawValue: octet)
  }
  public var octets: [UInt8] { [rawValue] }
}
