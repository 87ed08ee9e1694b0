import BLEHCI
import BLEWire

/// Joins the reports in which a controller delivers the data of one event of a train (Vol 4, Part E, 7.7.65.15).
///
/// One HCI event carries at most 247 octets; an event of a train has up to 1650. Its reports follow each other; all but
/// the last have the data status "more to come".
struct TrainReportAssembler: Sendable {
  /// The data status of a report.
  private enum Status { static let complete: UInt8 = 0, moreToCome: UInt8 = 1, truncated: UInt8 = 2 }

  /// The beginning of the data of an event.
  private struct Beginning: Sendable {
    var report: TrainReport
    var counter: UInt16?
    let deadline: Instant
  }

  private var beginning: Beginning?
  /// The last part of the data of the event before, if it had several.
  private var lastPart: [UInt8] = []

  /// The longest time that the reports of an event take. A chain of packets takes 2.4576 s at most (Vol 6, Part B,
  /// 2.3.4.5).
  static let timeout = Duration.seconds(3)

  /// When the rest of the data is overdue.
  var deadline: Instant? { beginning?.deadline }

  /// Takes a report.
  ///
  /// - Parameter counter: the number of its event, where the controller reports it.
  /// - Returns: what is complete: the end of an event, after the beginning of one whose end is missing.
  mutating func receive(
    _ octets: Bytes, _ status: UInt8, rssi: Int8, txPower: Int8, counter: UInt16?, now: Instant
  ) -> [TrainReport] {
    var complete: [TrainReport] = []
    if let beginning, beginning.deadline <= now || (counter != nil && beginning.counter != counter) {
      complete += takeTruncated()
    }
    let isContinued = status == Status.moreToCome
    guard isContinued || status == Status.complete || status == Status.truncated else {
      // The event was not received, and neither was the rest of one before it.
      return complete + takeTruncated() + [TrainReport([], .missed, rssi: rssi, txPower: txPower)]
    }
    // A controller that sends an event twice does not say so. Alone, the last part of long data is not an event of the
    // train; if it is one after all, the next one is complete.
    let isRepeated = beginning == nil && !isContinued && !lastPart.isEmpty && octets.elementsEqual(lastPart)
    lastPart = []
    var report = beginning?.report ?? TrainReport([], rssi: rssi, txPower: txPower)
    let room = LinkLayerLimits.extendedAdvertisingData - report.data.count
    if octets.count > room || status == Status.truncated || isRepeated { report.completeness = .truncated }
    report.data += octets.prefix(max(0, room))
    if rssi != 127 { report.rssi = rssi }
    if txPower != 127 { report.txPower = txPower }
    guard isContinued else {
      if beginning != nil { lastPart = Array(octets) }
      beginning = nil
      return complete + [report]
    }
    let deadline = beginning?.deadline ?? now + Self.timeout
    beginning = Beginning(report: report, counter: counter, deadline: deadline)
    return complete
  }

  /// The beginning of an event whose end has not come in time.
  mutating func tick(now: Instant) -> [TrainReport] {
    guard let deadline, deadline <= now else { return [] }
    return takeTruncated()
  }

  /// The beginning of an event whose end will not come.
  mutating func takeTruncated() -> [TrainReport] {
    guard var report = beginning?.report else { return [] }
    beginning = nil
    report.completeness = .truncated
    return [report]
  }
}
