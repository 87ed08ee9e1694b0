import BluetoothLE

/// Credit-based channels of BLEKit that lines direct: files pass through them. Channels have numbers, in the order in
/// which they were opened.
@MainActor final class KitChannels {
  private let attempts: Attempts
  private let name: String
  private let adapter: Adapter
  private var publications: [UInt16: ChannelPublication] = [:]
  private var channels: [LEChannel] = []

  init(_ attempts: Attempts, _ name: String, on adapter: Adapter) {
    (self.attempts, self.name, self.adapter) = (attempts, name, adapter)
  }

  func perform(_ words: [String], on device: RemoteDevice?) -> Bool {
    switch (words.first, words.count) {
    case ("publish", 3):
      guard let psm = UInt16(words[1], radix: 16), let security = Self.securities[words[2]] else { return false }
      attempt { channels in
        try await channels.adapter.waitUntilPoweredOn(timeout: .seconds(20))
        let publication = try await channels.adapter.publishChannel(psm: psm, security: security)
        channels.publications[psm] = publication
        channels.accept(from: publication)
        return "published \(words[1])"
      }
    case ("withdraw", 2):
      guard let psm = UInt16(words[1], radix: 16), let publication = publications.removeValue(forKey: psm) else {
        return false
      }
      attempt { _ in
        await publication.remove()
        return "withdrew \(words[1])"
      }
    case ("open", 2):
      guard let psm = UInt16(words[1], radix: 16), let device else { return false }
      attempt { channels in
        channels.added(try await device.openChannel(psm: psm), "opened")
      }
    case ("send", 4):
      guard let channel = channel(words[1]), let size = Int(words[3]) else { return false }
      attempt { _ in "sent \(words[1]) \(try await Self.send(words[2], on: channel, size: size))" }
    case ("receive", 3), ("receive", 5):
      guard let channel = channel(words[1]) else { return false }
      let pause = words.count == 5 ? (Int(words[3]) ?? 0, Int(words[4]) ?? 0) : nil
      attempt { channels in
        "received \(words[1]) \(try await channels.receive(words[2], from: channel, words[1], pause: pause))"
      }
    case ("close", 2):
      guard let channel = channel(words[1]) else { return false }
      attempt { _ in
        await channel.close()
        return "closed \(words[1])"
      }
    default: return false
    }
    return true
  }

  private static let securities: [String: RequiredSecurity] = [
    "none": .none, "encrypted": .encrypted, "authenticated": .authenticated,
  ]

  private func channel(_ number: String) -> LEChannel? {
    guard let number = Int(number), channels.indices.contains(number - 1) else { return nil }
    return channels[number - 1]
  }

  private func added(_ channel: LEChannel, _ what: String) -> String {
    channels.append(channel)
    return "\(what) \(channels.count) \(channel.maximumLength)"
  }

  private func accept(from publication: ChannelPublication) {
    Task { @MainActor in
      for await channel in publication { say("\(name) \(added(channel, "accepted"))") }
    }
  }

  /// Sends a file in SDUs of `size` octets.
  private nonisolated static func send(_ path: String, on channel: LEChannel, size: Int) async throws -> Int {
    let file = try FileHandle(forReadingFrom: URL(filePath: path))
    var count = 0
    while let octets = try file.read(upToCount: size), !octets.isEmpty {
      try await channel.write(Array(octets))
      count += octets.count
    }
    return count
  }

  /// Writes what is received to a file until the channel ends. `pause`: after so many octets nothing is read for so
  /// many seconds.
  private nonisolated func receive(
    _ path: String, from channel: LEChannel, _ number: String, pause: (octets: Int, seconds: Int)?
  ) async throws -> Int {
    try Data().write(to: URL(filePath: path))
    let file = try FileHandle(forWritingTo: URL(filePath: path))
    var (count, pause) = (0, pause)
    for try await octets in channel {
      try file.write(contentsOf: Data(octets))
      count += octets.count
      guard let due = pause, count >= due.octets else { continue }
      pause = nil
      await say("\(name) stalls \(number)")
      try await Task.sleep(for: .seconds(due.seconds))
    }
    return count
  }

  private func attempt(_ body: @escaping @MainActor @Sendable (KitChannels) async throws -> String) {
    attempts.start { try await body(self) }
  }
}
