import BLEKit
import BLEWire
import Synchronization
import ToolCore

/// The periodic advertising that `ble scan --periodic` receives: a line for each report.
final class PeriodicTrains: Sendable {
  /// The trains that are received at once. Controllers receive fewer, and say so.
  static let limit = 16

  /// A report as JSON.
  private struct Line: Encodable {
    var address: String
    var addressType: String
    var advertisingSet: Int
    var event: String
    /// In milliseconds.
    var interval: Double?
    var data: String?
    var truncated: Bool?
    var rssi: Int?
  }

  private let adapter: Adapter
  private let options: PeriodicSyncOptions
  private let isJSON: Bool
  private let readers = Mutex<[PeriodicTrain: Task<Void, Never>]>([:])

  init(_ adapter: Adapter, _ phys: Set<LEPHY>, isJSON: Bool) {
    var options = PeriodicSyncOptions()
    (options.phys, options.filtersDuplicates) = (phys, true)
    (self.adapter, self.options, self.isJSON) = (adapter, options, isJSON)
  }

  /// Begins to receive the train that an advertisement announces, unless that has begun.
  func receive(_ result: ScanResult) {
    guard let train = result.report.periodicTrain else { return }
    receive(train, interval: result.report.periodicInterval ?? .zero)
  }

  /// The trains whose reception has begun.
  var trains: Set<PeriodicTrain> { readers.withLock { Set($0.keys) } }

  func receive(_ train: PeriodicTrain, interval: Duration) {
    readers.withLock { readers in
      guard readers[train] == nil, readers.count < Self.limit else { return }
      var options = options
      options.timeout = min(max(.seconds(2), interval * 6), .seconds(160))
      let sync = adapter.synchronize(with: train, options: options)
      readers[train] = Task { await read(sync, of: train) }
    }
  }

  private func read(_ sync: PeriodicSync, of train: PeriodicTrain) async {
    do {
      for try await event in sync {
        guard !Output.isClosed else { return }
        write(event, of: train)
      }
    } catch {
      Output.error("ble: \(train.advertiser.word) set \(train.advertisingSet): \(error)")
    }
  }

  /// Ends the reception.
  func end() async {
    for reader in readers.withLock({ Array($0.values) }) {
      reader.cancel()
      await reader.value
    }
  }

  private func write(_ event: PeriodicEvent, of train: PeriodicTrain) {
    guard isJSON else {
      return Output.line("\(train.advertiser.word)  set \(train.advertisingSet)  \(Self.text(event))")
    }
    var line = Line(
      address: train.advertiser.octets.description, addressType: train.advertiser.isRandom ? "random" : "public",
      advertisingSet: train.advertisingSet, event: "")
    switch event {
    case .synchronized(let train): (line.event, line.interval) = ("synchronized", train.interval / .milliseconds(1))
    case .report(let report):
      (line.event, line.data, line.truncated) = ("report", report.data.hexadecimal, report.isTruncated)
      line.rssi = report.rssi
      if report.isMissed { (line.event, line.data, line.truncated) = ("missed", nil, nil) }
    case .lost: line.event = "lost"
    }
    Output.json(line)
  }

  private static func text(_ event: PeriodicEvent) -> String {
    switch event {
    case .synchronized(let train): return "synchronized, every \(train.interval / .milliseconds(1)) ms"
    case .lost: return "lost"
    case .report(let report) where report.isMissed: return "an event was missed"
    case .report(let report):
      let strength = report.rssi.map { "\($0) dBm  " } ?? ""
      return "\(strength)\(report.data.hexadecimal)\(report.isTruncated ? " (truncated)" : "")"
    }
  }
}
