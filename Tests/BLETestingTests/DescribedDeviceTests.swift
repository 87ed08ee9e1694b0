import BLEKit
import BLETesting
import Foundation
import Synchronization
import Testing

@testable import BLETwin

/// Devices of a radio that a file describes.
struct DescribedDeviceTests {
  /// A copy of a device with a control point, as `ble twin` prints it.
  private static let twin = """
    {
      "name": "Pump", "advertising": {"data": "020106050950756d70", "interval": 100}, "address": "static", "mtu": 100,
      "services": [
        {"uuid": "1800", "handle": 1, "end": 3, "characteristics": [
          {"uuid": "2A00", "properties": ["read"], "value": "text:Pump", "handle": 2}]},
        {"uuid": "180F", "handle": 16, "end": 18, "characteristics": [
          {"uuid": "2A19", "properties": ["read"], "reads": ["97 %", "96 %"], "handle": 17}]},
        {"uuid": "FFE0", "handle": 32, "end": 65535, "characteristics": [
          {"uuid": "FFE1", "properties": ["write", "indicate"], "handle": 33,
           "descriptors": [{"uuid": "2902", "handle": 36}], "writes": [
            {"value": "01", "then": [{"after": 5000, "value": "8001"}],
             "reads": [{"handle": 40, "values": ["hex:6f6e"]}]},
            {"value": "02", "error": 129}]},
          {"uuid": "FFE2", "properties": ["read"], "value": "6f6666", "handle": 38, "value_handle": 40}]}
      ]
    }
    """

  private static func file(_ text: String) throws -> String {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).json")
    try Data(text.utf8).write(to: file)
    return file.path
  }

  @Test func aCopyOfADeviceAnswersAsItsFileSays() async throws {
    let file = try Self.file(Self.twin)
    defer { try? FileManager.default.removeItem(atPath: file) }
    try await TestRadio.run { radio in
      let pump = try await radio.device("pump", describedBy: file)
      let phone = try await radio.device("phone").adapter()
      let device = try await phone.connect(to: .named("Pump"))
      #expect(device.address == pump.address)
      try await Self.checkReads(of: device)
      try await Self.checkControlPoint(of: device, radio)
    }
  }

  private static func checkReads(of device: RemoteDevice) async throws {
    let services = try await device.services()
    #expect(services.map(\.uuid) == ["1800", "180F", "FFE0"])
    for expected: UInt8 in [97, 96, 96] {
      let level = try await device.read("2A19", in: "180F", as: UInt8.self)
      #expect(level == expected)
    }
  }

  private static func checkControlPoint(of device: RemoteDevice, _ radio: TestRadio) async throws {
    let answers = Mutex<[[UInt8]]>([])
    let reading = Task(executorPreference: radio.executor) {
      for try await answer in device.values(of: "FFE1", in: "FFE0") { answers.withLock { $0.append(answer) } }
    }
    defer { reading.cancel() }
    try await radio.clock.sleep(for: .seconds(1))
    try await device.write([1], to: "FFE1", in: "FFE0")
    let state = try await device.read("FFE2", in: "FFE0", as: [UInt8].self)
    #expect(state == Array("on".utf8))
    // The answer follows the write by 5 s.
    try await radio.clock.sleep(for: .seconds(4))
    #expect(answers.withLock { $0.isEmpty })
    try await radio.clock.sleep(for: .seconds(2))
    #expect(answers.withLock { $0 } == [[0x80, 0x01]])
    var code: BLEError.Kind?
    do { try await device.write([2], to: "FFE1", in: "FFE0") } catch { code = error.kind }
    #expect(code == .att(ATTErrorCode(rawValue: 129)))
  }

  /// What follows a write is limited for each client, and ends with its link.
  @Test func whatFollowsWritesHasALimitAndEndsWithTheLink() async throws {
    let file = try Self.file(Self.twin)
    defer { try? FileManager.default.removeItem(atPath: file) }
    try await TestRadio.run { radio in
      _ = try await radio.device("pump", describedBy: file)
      let phone = try await radio.device("phone").adapter()
      for (writes, isWaiting, expected) in [
        (ServedValues.followingLimit, true, ServedValues.followingLimit),
        (ServedValues.followingLimit + 1, true, ServedValues.followingLimit), (3, false, 0), (0, true, 0),
      ] {
        let device = try await phone.connect(to: .named("Pump"))
        var answers = try await device.values(of: "FFE1", in: "FFE0", as: [UInt8].self).subscribed()
        for _ in 0..<writes { try await device.write([1], to: "FFE1", in: "FFE0") }
        // Each answer follows its write by 5 s, and takes the time of an indication.
        if isWaiting { try await radio.clock.sleep(for: .seconds(30)) }
        await device.disconnect()
        var count = 0
        do { while try await answers.next() != nil { count += 1 } } catch is BLEError {}
        #expect(count == expected, "\(writes) writes")
      }
    }
  }

  @Test func aFileThatIsWrongIsAnErrorWithItsLine() async throws {
    let file = try Self.file("{\n\"name\": 1}")
    defer { try? FileManager.default.removeItem(atPath: file) }
    let error = await #expect(throws: TestRadioError.self) {
      try await TestRadio.run { radio in _ = try await radio.device("x", describedBy: file) }
    }
    #expect(error?.description.contains("\(file):2: name: text in quotation marks is expected") == true)
  }
}
