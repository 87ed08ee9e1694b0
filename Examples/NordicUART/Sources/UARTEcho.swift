import BLEProfiles

/// The Nordic UART Service: a peripheral that sends back what it receives, and a central that compares it.
@main struct UARTEcho {
  static func main() async {
    await Adapter.runProgram {
      switch CommandLine.arguments.dropFirst().first {
      case "peripheral": try await serve(on: .open())
      case "central": try await talk(with: .open())
      case nil:
        // Both ends in this process, on the simulated radio. The peripheral ends with this scope.
        async let _ = serve(on: .open(AdapterOptions(transport: "virtual:peripheral")))
        try await talk(with: .open(AdapterOptions(transport: "virtual:central")))
      default: print("usage: uart-echo [peripheral | central] [--transport SPEC]")
      }
    }
  }

  static func serve(on adapter: Adapter) async throws {
    // What was received waits here until the central subscribes.
    let (received, continuation) = AsyncStream.makeStream(of: [UInt8].self, bufferingPolicy: .bufferingNewest(1_024))
    let uart = NordicUART.localService { octets, device in
      print("\(octets.count) octets from \(device)")
      continuation.yield(octets)
    } connected: { subscriber in
      print("\(subscriber.device) subscribes")
      for await octets in received { try await NordicUART.send(octets, to: subscriber) }
    }
    print("advertises as \"UART\"")
    try await adapter.serve([uart], advertisingAs: "UART")
  }

  static func talk(with adapter: Adapter) async throws {
    let scan = adapter.scan(ScanOptions(services: [NordicUART.service]))
    guard let found = try await scan.first(where: \.isConnectable) else { return }
    try await adapter.withConnection(to: found.address) { device in
      // Before the first octet is sent: what a device sends without a subscriber is lost.
      var echoes = try await device.values(of: NordicUART.transmit).subscribed()
      // The second one is sent in parts, as long as the link allows.
      for sent in [Array("Hello".utf8), (0..<2_000).map { UInt8(truncatingIfNeeded: $0) }] {
        // Sending and receiving at the same time: neither side waits for the other one to have room.
        async let isSent: Void = device.sendUART(sent)
        var echo: [UInt8] = []
        while echo.count < sent.count, let octets = try await echoes.next() { echo += octets }
        try await isSent
        print(echo == sent ? "echo of \(sent.count) octets" : "\(echo.count) octets, other than those that were sent")
      }
    }
  }
}
