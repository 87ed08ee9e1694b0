import BLEKit
import BLETesting
import Testing

struct CommandOrderTests {
  /// A pump sends its status after a command: the program has to subscribe first.
  @Test func theProgramSubscribesBeforeItsCommand() async throws {
    try await TestRadio.run { radio in
      let pump = try await radio.device("pump")
      let adapter = try await pump.adapter()
      let service = LocalService(
        "FFE0", [LocalCharacteristic("FFE1").write { _, _ in }, LocalCharacteristic("FFE2").notify()])
      async let _ = adapter.serve([service], advertisingAs: "Pump")

      let phone = try await radio.device("phone").adapter()
      async let _ = startPump(at: pump.address, with: phone)
      try await pump.expect(.connected, .subscribed("FFE2"), .written("FFE1", [1]), within: .seconds(10))
      try await pump.expectNone(of: .written("FFE1"), for: .seconds(60))
    }
  }

  /// The program under test.
  private func startPump(at address: DeviceAddress, with phone: Adapter) async throws {
    try await phone.withConnection(to: address) { pump in
      var states = try await pump.values(of: "FFE2", in: "FFE0", as: [UInt8].self).subscribed()
      try await pump.write([1], to: "FFE1", in: "FFE0")
      _ = try await states.next()
    }
  }
}
