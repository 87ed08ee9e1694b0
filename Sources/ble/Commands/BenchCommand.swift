import BLEKit
import BLETrace
import BLEWire
import ToolCore

/// `ble bench`: throughput and latency between two machines that run it.
enum BenchCommand {
  static let declaration = CommandDeclaration(
    name: "bench", summary: "measures throughput and latency to a device that runs ble bench --serve",
    details: [
      "It measures reads one after the other, writes without response, notifications, and an L2CAP channel in both directions, with "
        + "the data length and the PHY that the controllers have, or with those of --throughput.",
      "Below each measurement is the share of what the link can carry with its interval, PHY, data length and "
        + "encryption: full packets in each connection event. Less has arrived where intervals are empty. If this "
        + "device had no packet for its controller, the program or the credits of the channel were the limit; "
        + "otherwise the other device or the radio.",
    ],
    operands: [.init(name: "DEVICE", help: "the address or the name of the other device", isRequired: false)],
    options: CommandDeclaration.Option.adapter + [
      CommandDeclaration.Option.timeout, .json, .flag("serve", "runs the other end, until Control-C"),
      .value("seconds", "SECONDS", "the duration of each measurement (3)"), .flag("2m", "asks for LE 2M"),
      .flag("throughput", "asks for the longest packets, LE 2M and the interval that they fill"),
    ],
    examples: [
      .init(commandLine: "ble bench --serve", effect: "on one machine"),
      .init(commandLine: "ble bench \"ble bench\"", effect: "on the other one"),
    ],
    run: run)

  private static let name = "ble bench"
  private static let service: BluetoothUUID = "B1E00001-6A3F-4E0C-9B6B-0D2F4A6C8E10"
  private static let sink: BluetoothUUID = "B1E00002-6A3F-4E0C-9B6B-0D2F4A6C8E10"
  private static let source: BluetoothUUID = "B1E00003-6A3F-4E0C-9B6B-0D2F4A6C8E10"
  private static let channel: BluetoothUUID = "B1E00004-6A3F-4E0C-9B6B-0D2F4A6C8E10"

  private struct Result: Encodable, Sendable {
    var measurement: String
    var operations: Int
    var octets: Int
    var seconds: Double
    /// Nil for reads, of which each waits for the one before, and without a link layer in the trace.
    var link: LinkReport?

    /// The measurement, and the use of the link.
    var lines: [String] {
      let rate = Double(operations) / seconds
      let time = "\((1_000 / rate).text(decimals: 3)) ms"
      let throughput = "\((Double(octets) / seconds / 1_000).text(decimals: 1)) kB/s"
      let line = "\(measurement.padded(to: 24)) \(throughput.leftPadded(to: 14)) \(time.leftPadded(to: 12)) each"
      return [line] + (link.map { [$0.line] } ?? [])
    }
  }

  @Sendable private static func run(_ arguments: ParsedArguments) async throws {
    if arguments.has("serve") { return try await serve(arguments) }
    guard let target = arguments.operand(0) else {
      throw ToolError.usage("DEVICE is missing; the other machine runs: ble bench --serve", of: declaration)
    }
    try DeviceSearch.check(target, of: declaration)
    let duration = try arguments.seconds("seconds") ?? .seconds(3)
    let wants2M = arguments.has("2m")
    let hasPriority = arguments.has("throughput")
    let isJSON = arguments.has("json")
    let trace = try BenchTrace(arguments)
    defer { trace.remove() }
    var options = try arguments.adapterOptions()
    options.snoop = trace.path
    let timeout = try arguments.seconds("timeout") ?? .seconds(30)
    try await AdapterUse.withAdapter(options) { adapter in
      try await AdapterUse.withDevice(target, of: adapter, arguments, timeout: timeout) { device in
        try await measureAll(device, trace, for: duration, wants2M: wants2M, hasPriority: hasPriority, isJSON: isJSON)
      }
    }
  }

  private static func measureAll(
    _ device: RemoteDevice, _ trace: BenchTrace, for duration: Duration, wants2M: Bool, hasPriority: Bool, isJSON: Bool
  ) async throws {
    let service = try await device.service(Self.service)
    guard let sink = service[Self.sink], let source = service[Self.source], let number = service[channel] else {
      throw ToolError.device("the device does not run this version of ble bench --serve")
    }
    if wants2M { try await device.setPreferredPHY(transmit: [.le2M], receive: [.le2M]) }
    if hasPriority {
      try device.requestConnectionPriority(.throughput)
      try await settle(device)
    }
    if !isJSON {
      let phy = (try? await device.readPHY()).map { "\($0.transmit)" } ?? "unknown"
      let interval = (device.timing?.interval).map { "\($0)" } ?? "unknown"
      Output.line(
        "\(device.address), ATT_MTU \(device.mtu), PHY \(phy), interval \(interval), \(duration) each", indent: 4)
    }
    func show(_ result: Result, _ direction: LinkUse.Direction? = nil) {
      var result = result
      if let direction { result.link = trace.report(result.seconds, direction) }
      if isJSON { Output.json(result) } else { for line in result.lines { Output.line(line, indent: 4) } }
    }
    let payload = [UInt8](repeating: 0x55, count: device.packetFillingLength)
    show(try await measure("reads", for: duration, octets: 2) { _ = try await device.read(number) })
    show(
      try await measure("writes without response", for: duration, octets: payload.count) {
        try await device.writeWithoutResponse(payload, to: sink)
      }, .transmit)
    show(try await notifications(from: source, of: device, for: duration), .receive)
    let psm = try await device.read(number, as: UInt16.self)
    let channel = try await device.openChannel(psm: psm)
    show(try await echo(on: channel, for: duration), .both)
    await channel.close()
  }

  /// Waits until the timing and the data length have not changed for a second.
  private static func settle(_ device: RemoteDevice) async throws {
    var (quiet, last) = (0, (device.timing, device.dataLength))
    for _ in 0..<100 where quiet < 10 {
      try await Task.sleep(for: .milliseconds(100))
      let present = (device.timing, device.dataLength)
      quiet = present == last ? quiet + 1 : 0
      last = present
    }
  }

  /// Sends blocks without waiting for their echo, and counts both.
  private static func echo(on channel: LEChannel, for duration: Duration) async throws -> Result {
    let block = [UInt8](repeating: 0xAA, count: channel.maximumLength)
    let start = ContinuousClock.now
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { while true { try await channel.write(block) } }
      var (count, octets) = (0, 0)
      for try await echoed in channel {
        count += 1
        octets += 2 * echoed.count
        if ContinuousClock.now - start >= duration { break }
      }
      group.cancelAll()
      return result("L2CAP channel, echoed", count, octets, ContinuousClock.now - start)
    }
  }

  private static func measure(
    _ name: String, for duration: Duration, octets: Int, _ operation: () async throws -> Void
  ) async throws -> Result {
    let start = ContinuousClock.now
    var count = 0
    while ContinuousClock.now - start < duration {
      try Task.checkCancellation()
      try await operation()
      count += 1
      if count.isMultiple(of: 100) { Output.progress("\(name): \(count)") }
    }
    Output.progress("")
    return result(name, count, count * octets, ContinuousClock.now - start)
  }

  private static func notifications(
    from characteristic: RemoteCharacteristic, of device: RemoteDevice, for duration: Duration
  ) async throws -> Result {
    var (count, octets) = (0, 0)
    var start: ContinuousClock.Instant?
    for try await value in device.values(of: characteristic) {
      let now = ContinuousClock.now
      guard let begin = start else {
        start = now
        continue
      }
      count += 1
      octets += value.count
      if now - begin >= duration { break }
    }
    return result("notifications", count, octets, start.map { ContinuousClock.now - $0 } ?? .zero)
  }

  private static func result(_ name: String, _ count: Int, _ octets: Int, _ time: Duration) -> Result {
    let (seconds, attoseconds) = time.components
    return Result(
      measurement: name, operations: count, octets: octets, seconds: Double(seconds) + Double(attoseconds) / 1e18)
  }

  private static func serve(_ arguments: ParsedArguments) async throws {
    try await AdapterUse.withAdapter(arguments) { adapter in
      let publication = try await adapter.publishChannel()
      let echo = Task {
        for await channel in publication {
          Task { for try await octets in channel { try await channel.write(octets) } }
        }
      }
      defer { echo.cancel() }
      let service = LocalService(
        Self.service,
        [
          LocalCharacteristic(sink).write(kinds: [.withResponse, .withoutResponse]) { _, _ in },
          LocalCharacteristic(source).notify { subscriber in
            let value = [UInt8](repeating: 0x5A, count: subscriber.device.packetFillingLength)
            try await subscriber.send(contentsOf: sequence(first: value) { $0 })
          },
          LocalCharacteristic(channel).value(publication.psm),
        ])
      Output.event("READY \"\(name)\"\(adapter.address.map { " as \($0)" } ?? ""), PSM \(publication.psm)")
      try await adapter.serve([service], advertising: Advertisement(localName: name, serviceUUIDs: [Self.service]))
    }
  }
}
