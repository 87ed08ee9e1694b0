import BLEKit
import BLETesting
import Foundation
import Testing

struct ReportedFaultTests {
  /// A lamp whose name is the text of a version of the program.
  func serve(_ name: String, on device: TestDevice) async throws {
    let lamp = LocalService("FFE0", [LocalCharacteristic("FFE1").read { _ in name }])
    try await device.adapter().serve([lamp], advertisingAs: "Lamp")
  }

  @Test func theLampAnswersAsInTheReport() async throws {
    let folder = FileManager.default.temporaryDirectory.path
    // In practice the trace comes with the report: a btsnoop file, pcap, pcapng, or Apple's PacketLogger.
    try await TestRadio.run(traces: folder) { radio in
      let lamp = try await radio.device("reported lamp")
      async let _ = serve("Lamp 1", on: lamp)
      let phone = try await radio.device("reported phone").adapter()
      _ = try await phone.withConnection(to: lamp.address) { try await $0.read("FFE1", in: "FFE0") }
    }
    try await TestRadio.run { radio in
      let (lamp, phone) = (try await radio.device("lamp"), try await radio.device("phone"))
      async let _ = serve("Lamp 2", on: lamp)
      let replay = try await radio.replay("\(folder)/reported phone.btsnoop", from: phone, against: lamp)
      // packet 61: Read Request of 0x000C FFE1: recorded … "Lamp 1", now … "Lamp 2"
      #expect(replay.differences.count == 1, "\(replay)")
    }
  }
}
