import AdapterFixtures
import BLEKit
import Testing

/// Channels between two adapters on the simulated radio.
@Suite(.usesRadio) struct RadioChannelTests {
  /// Connects, and opens a channel to a PSM that the peripheral publishes.
  private func meet(
    _ body: @Sendable @escaping (LEChannel, LEChannel, ChannelPublication, RemoteDevice) async throws -> Void
  ) async throws {
    let air = try await OnTheAir()
    let publication = try await air.peripheral.publishChannel()
    try await air.meet(LocalCharacteristic("2A29").value("Kit")) { device in
      async let incoming = { () async throws -> LEChannel in
        for await channel in publication { return channel }
        throw CancellationError()
      }()
      let ours = try await device.openChannel(psm: publication.psm)
      try await body(ours, incoming, publication, device)
    }
  }

  private func octets(_ channel: LEChannel) async throws -> [UInt8] {
    var all: [UInt8] = []
    for try await element in channel { all += element }
    return all
  }

  @Test func octetsPassInBothDirectionsAtOnce() async throws {
    let file = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 9) }
    try await meet { [self] ours, theirs, _, _ in
      async let written: Void = {
        try await theirs.write(file)
        try await ours.write(file)
      }()
      var received = (ours: [UInt8](), theirs: [UInt8]())
      for try await element in ours {
        received.ours += element
        if received.ours.count >= file.count { break }
      }
      async let rest = octets(theirs)
      try await written
      await ours.close()
      received.theirs = try await rest
      #expect(received.ours == file && received.theirs == file)
    }
  }

  @Test func theLimitsOfSDUsAreKept() async throws {
    try await meet { [self] ours, theirs, _, _ in
      for count in [1, 700, 2_048] { try await ours.write([UInt8](repeating: 1, count: count)) }
      await ours.close()
      var counts: [Int] = []
      for try await element in theirs { counts.append(element.count) }
      #expect(counts == [1, 700, 2_048] && theirs.maximumLength == 2_221)
      _ = self
    }
  }

  @Test func aRemovedPublicationClosesItsChannels() async throws {
    try await meet { [self] ours, theirs, publication, device in
      try await theirs.write([1])
      await publication.remove()
      let (left, right) = (try await octets(ours), try await octets(theirs))
      #expect(left == [1] && right == [] && device.isConnected)
      await expectThrows(.notFound) { _ = try await device.openChannel(psm: publication.psm) }
    }
  }

  @Test func aLostLinkIsThrownByBothEnds() async throws {
    try await meet { [self] ours, theirs, _, device in
      await device.disconnect()
      await expectThrows(.disconnected) { _ = try await octets(ours) }
      await expectThrows(.disconnected) { _ = try await octets(theirs) }
    }
  }

  @Test func channelsOfOneLinkDoNotWaitForEachOther() async throws {
    try await meet { ours, theirs, publication, device in
      // Nobody reads the first channel: its writer waits.
      let blocked = Task { try await ours.write([UInt8](repeating: 1, count: 300_000)) }
      async let incoming = { () async throws -> LEChannel in
        for await channel in publication { return channel }
        throw CancellationError()
      }()
      let second = try await device.openChannel(psm: publication.psm)
      try await second.write([5, 6])
      var iterator = try await incoming.makeAsyncIterator()
      #expect(try await iterator.next() == [5, 6])
      #expect(
        try await device.read("2A29", in: device.services().first { $0["2A29"] != nil }?.uuid ?? "1800")
          == Array("Kit".utf8))
      blocked.cancel()
      await expectThrows(.cancelled) { try await blocked.value }
      withExtendedLifetime(theirs) {}
    }
  }

  @Test func anEncryptedPSMPairsTheDevices() async throws {
    let air = try await OnTheAir()
    let publication = try await air.peripheral.publishChannel(security: .encrypted)
    try await air.meet { device in
      #expect(device.security.level == .none)
      let channel = try await device.openChannel(psm: publication.psm)
      #expect(channel.isOpen && device.security.level >= .encrypted)
    }
  }
}

/// The examples in the documentation of ``LEChannel`` and ``ChannelPublication``.
func greet(_ device: RemoteDevice) async throws {
  let channel = try await device.openChannel(psm: 0x0080)
  try await channel.write(Array("hello".utf8))
  for try await octets in channel {
    print(octets.count)
  }
}

func echo(on adapter: Adapter) async throws {
  let publication = try await adapter.publishChannel()
  print("PSM \(publication.psm)")
  for await channel in publication {
    for try await octets in channel { try await channel.write(octets) }
  }
}
