import BLEProfiles

/// The Nordic UART Service: a peripheral that sends back what it receives, and a central that compares it.
@main struct UARTEcho {
  static let usage = """
    uart-echo [--role peripheral|central] [--transport SPEC] [--text TEXT] [--octets N]

      --role ROLE       one end alone; without it both ends run here, on the simulated radio
      --transport SPEC  the controller of that end, e.g. linux, tcp-client:127.0.0.1:6402
      --text TEXT       central: what it sends first (Hello)
      --octets N        central: how many octets it sends then, in parts as long as the link allows (2000)
    """

  static func main() async {
    await Program.run(usage) { program in
      let text = program.value("--text") ?? "Hello"
      let count = try program.number("--octets", or: 2_000, in: 0...100_000)
      try await program.runRoles {
        try await serve(on: $0)
      } central: {
        try await talk(with: $0, text: text, count: count)
      }
    }
  }

  static func serve(on adapter: Adapter) async throws {
    // What was received waits here until the central subscribes.
    let (received, continuation) = AsyncStream.makeStream(of: [UInt8].self, bufferingPolicy: .bufferingNewest(1_024))
    let uart = NordicUART.localService { octets, device in
      say("\(octets.count) octets from \(device)")
      continuation.yield(octets)
    } connected: { subscriber in
      say("\(subscriber.device) subscribes")
      for await octets in received { try await NordicUART.send(octets, to: subscriber) }
    }
    say("advertises as \"UART\"")
    try await adapter.serve([uart], advertisingAs: "UART")
  }

  static func talk(with adapter: Adapter, text: String, count: Int) async throws {
    try await adapter.withDevice(advertising: NordicUART.service) { device in
      // Before the first octet is sent: what a device sends without a subscriber is lost.
      var echoes = try await device.values(of: NordicUART.transmit).subscribed()
      for sent in [Array(text.utf8), (0..<count).map { UInt8(truncatingIfNeeded: $0) }] where !sent.isEmpty {
        // Sending and receiving at the same time: neither side waits for the other one to have room.
        async let isSent: Void = device.sendUART(sent)
        var echo: [UInt8] = []
        while echo.count < sent.count, let octets = try await echoes.next() { echo += octets }
        try await isSent
        guard echo == sent else { throw ExampleError("\(echo.count) octets came back, and not those that were sent") }
        say("echo of \(sent.count) octets\(sent.count < 100 ? ": \(String(decoding: echo, as: UTF8.self))" : "")")
      }
    }
  }
}
