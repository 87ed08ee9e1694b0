import BLEATT
import BLEHCI
import BLEKit
import BLEL2CAP
import BLETwin
import BLEWire
import Testing
import ToolCore

@testable import BLETrace
@testable import ble

/// The description of a device that a client has seen, in an inspection or in a trace.
struct SeenDeviceTests {
  private static let services = [
    SeenDevice.Service(
      uuid: "1800",
      characteristics: [
        SeenDevice.Characteristic(uuid: "2A00", properties: [.read], value: Array("Station\0".utf8)),
        SeenDevice.Characteristic(uuid: "2A01", properties: [.read], value: [0x00, 0x03]),
      ]),
    SeenDevice.Service(
      uuid: "181A",
      characteristics: [
        SeenDevice.Characteristic(
          uuid: "2A6E", properties: [.read, .notify, .broadcast], value: [0x66, 0x08],
          descriptors: [("2901", Array("Air \"in\"".utf8)), ("2902", [0, 0]), ("2904", [1])]),
        SeenDevice.Characteristic(uuid: "2A3D", properties: [.read, .write], value: Array("attic".utf8)),
        SeenDevice.Characteristic(
          uuid: "2A3E", properties: [.read, .writeWithoutResponse, .indicate], value: nil, security: .authenticated),
        SeenDevice.Characteristic(uuid: "2A3F", properties: [.broadcast], value: nil),
      ]),
    SeenDevice.Service(uuid: "7D0A0001-9E47-4C5A-9B1B-3C1E6F2A8D10", isPrimary: false),
  ]

  @Test func aDescriptionIsReadAsItIsWritten() throws {
    var device = SeenDevice()
    device.services = Self.services
    device.advertised = ["181A", "180F"]
    let (description, leftOut) = device.described(orNamed: "C0:11:22:33:44:55-random")
    #expect(description.name == "Station" && description.appearance == 0x0300 && description.advertise == ["181A"])
    #expect(description.services.map(\.uuid) == ["181A", "7D0A0001-9E47-4C5A-9B1B-3C1E6F2A8D10"])
    let characteristics = description.services[0].characteristics
    #expect(characteristics.map(\.uuid) == ["2A6E", "2A3D", "2A3E"])
    #expect(
      characteristics.map(\.properties) == [
        [.read, .notify], [.read, .write], [.read, .writeWithoutResponse, .indicate],
      ])
    #expect(characteristics.map(\.security) == [.none, .none, .authenticated])
    #expect(characteristics.map(\.value) == [[0x66, 0x08], Array("attic".utf8), []])
    #expect(characteristics.map(\.description) == ["Air \"in\"", nil, nil])
    #expect(
      leftOut == [
        "the properties Broadcast of 2A6E", "the descriptor 2904 of 2A6E", "the properties Broadcast of 2A3F",
        "the characteristic 2A3F, which has no other properties",
      ])
    #expect(device.unseenValues == ["2A3E of 181A"])
    #expect(try ServiceDescription(Array(description.text.utf8), of: "seen.json") == description)
    #expect(description.text.contains(#""value": "text:attic""#) && description.text.contains(#""value": "21.50 °C""#))
  }

  @Test func aValueOfAnotherLengthThanThatOfItsTypeIsRead() throws {
    var device = SeenDevice()
    device.services = [
      SeenDevice.Service(
        uuid: "181A", characteristics: [SeenDevice.Characteristic(uuid: "2A6E", properties: [.read], value: [0x23])])
    ]
    let (description, _) = device.described(orNamed: "x")
    #expect(description.text.contains(#""value": "hex:23""#))
    #expect(try ServiceDescription(Array(description.text.utf8), of: "seen.json") == description)
  }

  @Test(arguments: ["", "text:", "a\u{1B}b", "\u{202E}"])
  func textThatATerminalInterpretsIsWrittenInDigits(text: String) throws {
    var device = SeenDevice()
    let value = Array(text.utf8)
    device.services = [
      SeenDevice.Service(
        uuid: "180A", characteristics: [SeenDevice.Characteristic(uuid: "2A29", properties: [.read], value: value)])
    ]
    let (description, _) = device.described(orNamed: "a\u{1B}b\u{202E}")
    #expect(description.text.unicodeScalars.allSatisfy { $0 == "\n" || String.isPrintable($0) })
    let read = try ServiceDescription(Array(description.text.utf8), of: "seen.json")
    #expect(read == description && read.services[0].characteristics[0].value == value)
  }

  /// Octets that are no text become longer as text; a device may use any UUID.
  @Test func aDeviceHasWhatAFileAccepts() throws {
    let invalid = [UInt8](repeating: 0xFE, count: 512)
    var device = SeenDevice()
    device.services = [
      SeenDevice.Service(
        uuid: "1800", characteristics: [SeenDevice.Characteristic(uuid: "2A00", properties: [.read], value: invalid)]),
      SeenDevice.Service(
        uuid: "180F",
        characteristics: [
          SeenDevice.Characteristic(uuid: "2A19", properties: [.read], descriptors: [("2901", invalid)]),
          SeenDevice.Characteristic(uuid: "2902", properties: [.read]),
        ]),
      SeenDevice.Service(uuid: "2A19"),
    ]
    let (description, leftOut) = device.described(orNamed: "x")
    #expect(description.name.utf8.count == 246 && description.services.map(\.uuid) == ["180F"])
    #expect(description.services[0].characteristics.map(\.uuid) == ["2A19"])
    #expect(description.services[0].characteristics[0].description?.utf8.count == 510)
    #expect(
      leftOut == [
        "the characteristic 2902, which is not the type of a characteristic",
        "the service 2A19, which is not the type of a service",
      ])
    #expect(try ServiceDescription(Array(description.text.utf8), of: "seen.json") == description)
  }

  // MARK: - Traces

  private struct Trace {
    var reader = TraceReader()
    let peer = DeviceAddress(octets: BD_ADDR(0xC011_2233_4455), kind: .random)

    mutating func add(_ packet: HCIPacket, _ direction: HCIPacketDirection) {
      _ = reader.entry(for: BTSnoopRecord(packet: packet.encoded[...], direction: direction, microseconds: 0))
    }

    mutating func connect(_ handle: UInt16 = 0x40, to device: DeviceAddress? = nil) {
      var event = HCI.LEConnectionComplete()
      event.connectionHandle = ConnectionHandle(rawValue: handle)
      event.peerAddress = device ?? peer
      add(.event(HCIEventPacket(event)), .controllerToHost)
    }

    mutating func frame(_ pdu: [UInt8], _ direction: HCIPacketDirection, on handle: UInt16 = 0x40) {
      var packet = HCIACLDataPacket()
      packet.connectionHandle = ConnectionHandle(rawValue: handle)
      packet.packetBoundaryFlag = direction == .hostToController ? .firstNonFlushable : .firstFlushable
      packet.data = BasicFrame(channel: .attributeProtocol, payload: pdu[...]).encoded[...]
      add(.aclData(packet), direction)
    }

    /// A request of this host and the answer of the device.
    mutating func exchange(_ request: [UInt8], _ response: [UInt8], on handle: UInt16 = 0x40) {
      frame(request, .hostToController, on: handle)
      frame(response, .controllerToHost, on: handle)
    }

    /// The discovery of a service with three characteristics, one of them with a description, and their values.
    mutating func discover(on handle: UInt16 = 0x40) {
      exchange([0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28], [0x11, 6, 1, 0, 9, 0, 0x1A, 0x18], on: handle)
      exchange(
        [0x08, 1, 0, 9, 0, 0x03, 0x28],
        [0x09, 7, 2, 0, 0x12, 3, 0, 0x6E, 0x2A, 6, 0, 0x0A, 7, 0, 0x3D, 0x2A, 8, 0, 0x02, 9, 0, 0x3E, 0x2A], on: handle)
      exchange([0x04, 4, 0, 5, 0], [0x05, 1, 4, 0, 0x02, 0x29, 5, 0, 0x01, 0x29], on: handle)
      exchange([0x0A, 3, 0], [0x0B, 0x66, 0x08], on: handle)
      exchange([0x0A, 5, 0], [0x0B] + Array("Air".utf8), on: handle)
      exchange([0x0A, 7, 0], [0x0B] + Array("at".utf8), on: handle)
      exchange([0x0C, 7, 0, 2, 0], [0x0D] + Array("tic".utf8), on: handle)
      exchange([0x0A, 9, 0], [0x01, 0x0A, 9, 0, 0x05], on: handle)
    }
  }

  private static let discovered = ServiceDescription(
    name: "Station", appearance: nil, advertise: ["181A"],
    services: [
      ServiceDescription.Service(
        uuid: "181A", isPrimary: true,
        characteristics: [
          .init(uuid: "2A6E", properties: [.read, .notify], value: [0x66, 0x08], security: .none, description: "Air"),
          .init(uuid: "2A3D", properties: [.read, .write], value: Array("attic".utf8), security: .none),
          .init(uuid: "2A3E", properties: [.read], value: [], security: .authenticated),
        ])
    ])

  @Test func aTraceShowsTheServicesValuesAndAdvertisementOfADevice() throws {
    var trace = Trace()
    var report = HCI.ExtendedAdvertisingReport()
    report.address = trace.peer
    report.data = ([8, 0x09] + Array("Station".utf8) + [3, 0x03, 0x1A, 0x18])[...]
    trace.add(.event(HCIEventPacket(HCI.LEExtendedAdvertisingReport { $0.reports = [report] })), .controllerToHost)
    trace.connect()
    trace.discover()
    // Later values are not those of the device at the beginning.
    trace.frame([0x1B, 3, 0, 0x70, 0x08], .controllerToHost)
    let devices = trace.reader.devices
    #expect(devices.map(\.address) == [trace.peer])
    let (description, leftOut) = try #require(devices.first).device.described(orNamed: "x")
    #expect(description == Self.discovered && leftOut.isEmpty)
  }

  @Test func theAdvertisedServicesHaveTheOrderOfTheTrace() throws {
    var trace = Trace()
    for services: [UInt8] in [[0x1A, 0x18, 0x0F, 0x18], [0x0A, 0x18, 0x1A, 0x18]] {
      var report = HCI.ExtendedAdvertisingReport()
      report.address = trace.peer
      report.data = ([5, 0x03] + services)[...]
      trace.add(.event(HCIEventPacket(HCI.LEExtendedAdvertisingReport { $0.reports = [report] })), .controllerToHost)
    }
    trace.connect()
    trace.discover()
    #expect(trace.reader.devices.first?.device.advertised == ["181A", "180F", "180A"])
  }

  /// A client that has a bond does not discover the services again.
  @Test func theAttributesOfADeviceThatConnectsAgainAreKnown() throws {
    var trace = Trace()
    trace.connect()
    trace.discover()
    trace.connect(0x40, to: DeviceAddress(octets: BD_ADDR(0xC011_2233_4466), kind: .random))
    #expect(trace.reader.devices.map(\.address) == [trace.peer] && trace.reader.devices[0].link == nil)
    trace.connect(0x41)
    #expect(trace.reader.devices.map(\.link) == [ConnectionHandle(rawValue: 0x41)])
    #expect(trace.reader.devices[0].device.described(orNamed: "x").0.services == Self.discovered.services)
  }

  @Test func theDevicesThatAreKeptAreLimited() {
    var trace = Trace()
    let limit = TraceReader.deviceLimit
    for number in 0...limit + 1 {
      trace.connect(to: DeviceAddress(octets: BD_ADDR(0xC011_0000_0000 + UInt64(number)), kind: .random))
      trace.discover()
    }
    // The devices whose link has ended, and the last one.
    #expect(trace.reader.devices.count == limit + 1)
  }

  @Test func aTraceWithoutDiscoveryShowsNoDevice() {
    var trace = Trace()
    trace.connect()
    trace.frame([0x1B, 3, 0, 0x70, 0x08], .controllerToHost)
    #expect(trace.reader.devices.isEmpty)
  }
}
