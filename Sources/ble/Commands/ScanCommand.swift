import BLEKit
import BLETrace
import BLEWire
import Synchronization
import ToolCore

/// `ble scan`: the devices in range.
enum ScanCommand {
  static let declaration = CommandDeclaration(
    name: "scan", summary: "shows the devices in range",
    details: [
      "On a terminal it is a table, the strongest signal first, until Control-C or --duration. Otherwise each device is one line, for "
        + "10 seconds.",
      "The kind of an address, -public or -random, follows it: two devices can have the same address of different kinds. DEVICE of other "
        + "commands takes an address with its kind, or without.",
    ],
    options: CommandDeclaration.Option.adapter + [
      .json,
      .value("duration", "SECONDS", "ends after this time"),
      .value(
        "service", "UUID", "only devices that advertise this service, a UUID or a name such as 'Heart Rate'",
        isRepeatable: true),
      .value("name", "TEXT", "only devices with this text in their name, which may come later"),
      .value("rssi", "DBM", "only devices with this signal strength or a stronger one at some time, -127 to 20"),
      .flag("all", "reports each advertisement, not only the first of each device (with --json)"),
      .flag("coded", "scans on LE Coded, too"),
      .flag(
        "periodic",
        "receives the periodic advertising of the devices: a line for each report with new data"
      ),
      .flag("wide", "the table has the whole content of each device, in as many lines as it needs"),
    ],
    examples: [
      .init(commandLine: "ble scan --service 'Heart Rate'", effect: "shows heart-rate monitors"),
      .init(commandLine: "ble scan --json --duration 5 | jq .name", effect: "prints names"),
    ],
    run: run)

  /// A device as JSON.
  private struct Line: Encodable {
    var address: String
    var addressType: String
    var rssi: Int?
    var name: String?
    var services: [String]
    var manufacturer: [Manufacturer]
    var serviceData: [String: String]
    var txPower: Int?
    var connectable: Bool
    var periodic: Periodic?
    var summary: String

    struct Periodic: Encodable {
      var advertisingSet: Int
      var interval: Double
    }

    struct Manufacturer: Encodable {
      var company: UInt16
      var data: String
    }
  }

  @Sendable private static func run(_ arguments: ParsedArguments) async throws {
    var options = ScanOptions()
    for text in arguments.allValues("service") {
      let uuids = UUIDName.uuids(text)
      guard !uuids.isEmpty else {
        let hint = UUIDName.nearestName(to: text, of: .service).map { ". Did you mean '\($0)'?" } ?? ""
        throw ToolError.usage("'\(text)' is neither a UUID nor the name of a service\(hint)", of: declaration)
      }
      let services = uuids.filter { !UUIDName.Kind.service.excludes($0) }
      guard !services.isEmpty || BluetoothUUID(text) != nil else {
        throw ToolError.usage(
          "'\(text)' is the name of \(uuids.map(\.uuidString).joined(separator: ", ")), which is not a service: "
            + "devices advertise services, such as 'Environmental Sensing'", of: declaration)
      }
      options.services += services.isEmpty ? uuids : services
    }
    if arguments.has("coded") { options.phys = [.le1M, .leCoded] }
    let isTable = Style.canDraw && !arguments.has("json") && !arguments.has("periodic")
    let isWide = arguments.has("wide")
    options.allowsDuplicates = isTable || arguments.has("all") || arguments.has("periodic")
    options.waitsForScanResponse = !options.allowsDuplicates
    options.minimumRSSI = try arguments.number("rssi", in: -127...20)
    options.nameText = arguments.value("name")
    let duration = try arguments.seconds("duration") ?? (isTable ? nil : .seconds(10))
    let isJSON = arguments.has("json")

    try await AdapterUse.withAdapter(arguments) { adapter in
      let trains = arguments.has("periodic") ? PeriodicTrains(adapter, options.phys, isJSON: isJSON) : nil
      let table = isTable ? DeviceTable(isWide: isWide) : nil
      table?.begin()
      let start = ContinuousClock.now
      let hasFound = Atomic(false)
      let progress = ProgressLine {
        if isTable || hasFound.load(ordering: .relaxed) { return nil }
        let left = duration.map { max(.zero, $0 - (.now - start)).components.seconds }
        return "scanning: no device so far\(left.map { ", \($0) s left" } ?? "")"
      }
      let result: Result<Bool?, any Error>
      do {
        result = .success(
          try await AdapterUse.first(within: duration ?? .seconds(86_400 * 365)) { [options] () async throws -> Bool? in
            // The end of the duration cancels the task: what waits for a scan response is reported then.
            for try await result in adapter.scan(options) {
              if !hasFound.exchange(true, ordering: .relaxed) { await progress.end() }
              if Output.isClosed { return true }
              if let trains {
                trains.receive(result)
              } else if let table {
                table.add(result)
              } else if isJSON {
                Output.json(line(result))
              } else {
                Output.line(plain(result))
              }
            }
            return true
          })
      } catch { result = .failure(error) }
      await progress.end()
      table?.end()
      await trains?.end()
      if !hasFound.load(ordering: .relaxed), !Output.isClosed {
        Output.error("ble: \(nothingFound(after: .now - start, arguments))")
      }
      _ = try result.get()
    }
  }

  /// The message of a scan without a result.
  private static func nothingFound(after time: Duration, _ arguments: ParsedArguments) -> String {
    let filters = ["service", "name", "rssi"].filter { arguments.value($0) != nil }.map { "--\($0)" }
    let head = "no device was found in \(time.formattedSeconds)"
    if filters.isEmpty { return "\(head): none advertises in range" }
    return "\(head) with \(filters.joined(separator: " and ")). Run: \(arguments.commandLine("scan"))"
  }

  /// `-61 dBm  F0:F1:F2:F3:F4:F5-public  "Thermometer", Health Thermometer`
  private static func plain(_ result: ScanResult) -> String {
    let strength = result.rssi.map { "\($0) dBm" } ?? "? dBm"
    let text = AdvertisementText.line(result.contents, name: result.name)
    let train = result.report.periodicTrain.map { "  [periodic advertising, set \($0.advertisingSet)]" } ?? ""
    return "\(strength.leftPadded(to: 8))  \(result.address.word)  \(text)\(train)"
  }

  private static func line(_ result: ScanResult) -> Line {
    let contents = result.contents
    return Line(
      address: result.address.octets.description,
      addressType: result.address.isRandom ? "random" : "public",
      rssi: result.rssi, name: result.name, services: contents.serviceUUIDs.map(\.uuidString),
      manufacturer: contents.manufacturerData.map { .init(company: $0.company.rawValue, data: $0.data.hexadecimal) },
      serviceData: Dictionary(
        contents.serviceData.map { ($0.uuid.uuidString, $0.data.hexadecimal) }, uniquingKeysWith: { _, last in last }),
      txPower: contents.txPowerLevel.map(Int.init), connectable: result.isConnectable,
      periodic: result.report.periodicTrain.map {
        .init(advertisingSet: $0.advertisingSet, interval: (result.report.periodicInterval ?? .zero) / .milliseconds(1))
      },
      summary: AdvertisementText.line(contents, name: result.name))
  }
}
