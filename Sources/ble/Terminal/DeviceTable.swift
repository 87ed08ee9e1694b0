import BLEKit
import BLEWire
import Synchronization

/// A table of devices that is drawn again twice a second, the strongest signal first.
final class DeviceTable: Sendable {
  private struct Row {
    var result: ScanResult
    var reports: Int
    var last: ContinuousClock.Instant
  }

  private struct State {
    var rows: [DeviceAddress: Row] = [:]
    var drawn: ContinuousClock.Instant?
    var lines = 0
  }

  /// Devices that are kept; the weakest of more is left out.
  static let limit = 1_000

  private let state = Mutex(State())

  /// Adds a report, and draws the table when it is older than half a second.
  func add(_ result: ScanResult) {
    let now = ContinuousClock.now
    state.withLock { state in
      let reports = (state.rows[result.address]?.reports ?? 0) + 1
      state.rows[result.address] = Row(result: result, reports: reports, last: now)
      if state.rows.count > Self.limit,
        let weakest = state.rows.min(by: { Self.strength($0.value) < Self.strength($1.value) })
      {
        state.rows[weakest.key] = nil
      }
      if state.drawn.map({ now - $0 >= .milliseconds(500) }) ?? true {
        draw(&state, height: Style.rows)
        state.drawn = now
      }
    }
  }

  /// Draws all devices once more.
  func end() { state.withLock { draw(&$0, height: .max) } }

  private func draw(_ state: inout State, height: Int) {
    let rows = state.rows.values.sorted { Self.strength($0) > Self.strength($1) }.map(\.result)
    let lines = Self.lines(rows, width: Style.columns).prefix(max(2, height - 1))
    // Back to the first line of the table; what is below it is erased (ECMA-48, 8.3.22 and 8.3.39).
    let back = state.lines == 0 ? "" : "\u{1B}[\(state.lines)A\r\u{1B}[J"
    Output.text(back + lines.map { $0 + "\n" }.joined())
    state.lines = lines.count
  }

  private static func strength(_ row: Row) -> Int { row.result.rssi ?? -128 }

  /// The head and a line for each device, in `width` columns.
  static func lines(_ results: [ScanResult], width: Int) -> [String] {
    let head = "RSSI  ADDRESS            NAME                CONTENT".shortened(to: width)
    return [Style.bold(head)]
      + results.map { result in
        var contents = result.contents
        let name = contents.localName.map { printable(String(decoding: $0.octets, as: UTF8.self)) } ?? ""
        contents.localName = nil
        let text = contents == AdvertisedData() ? "" : AdvertisementText.line(contents)
        let strength = (result.rssi.map(String.init) ?? "?").leftPadded(to: 4)
        let line = "\(strength)  \(result.address.octets)  \(name.shortened(to: 18).padded(to: 18))  \(text)"
        return line.shortened(to: width)
      }
  }
}
