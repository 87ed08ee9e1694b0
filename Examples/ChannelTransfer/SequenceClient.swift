import BluetoothLE

/// The same as ``TransferClient`` with BLEKit: a sequence of SDUs, and writes that wait.
struct SequenceClient: Sendable {
  let plan: TransferPlan

  func run(on options: AdapterOptions) async throws {
    let adapter = try await Adapter.open(options)
    for try await result in adapter.scan() where result.contents.localName?.text == plan.name {
      return try await adapter.withConnection(to: result.address) { device in
        say("connected")
        var psm = plan.psm
        if psm == nil {
          psm = try await device.read(
            "ABDD3056-28FA-441D-A470-55A75A52553A", in: "7A3C0030-52D6-4C1E-9B0F-6D1E2F3A4B5C", as: UInt16.self)
        }
        let channel = try await device.openChannel(psm: psm ?? 0)
        say("open")
        async let sent = send(over: channel)
        let received = try await receive(from: channel)
        let all = try await sent
        // The link ends with this scope, and what is still on its way with it: only the other end knows when it has
        // everything, and closes the channel then.
        if received.isDone { for try await _ in channel {} }
        say("sent \(all.summary)")
        say("received \(received.summary)")
        say(received.isDone ? "done" : "not done")
      }
    }
  }

  private func send(over channel: LEChannel) async throws -> TransferCount {
    var source = TransferSource()
    var count = TransferCount(goal: plan.sent)
    while !count.isDone {
      let octets = source.next(min(16_384, count.goal - count.count))
      try await channel.write(octets)
      count.add(octets)
    }
    return count
  }

  private func receive(from channel: LEChannel) async throws -> TransferCount {
    var count = TransferCount(goal: plan.received)
    var stalls = plan.stalls
    guard !count.isDone else { return count }
    for try await octets in channel {
      count.add(octets)
      if stalls, count.count >= count.goal / 2 {
        stalls = false
        say("stalled after \(count.count) octets")
        await TransferPlan.waitForLine()
        say("reading again")
      }
      if count.isDone { break }
    }
    return count
  }
}
