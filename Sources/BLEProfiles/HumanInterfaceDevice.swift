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
