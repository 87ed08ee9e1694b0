import BLEKit
import BLEWire
import Synchronization

/// A table of devices that is drawn again twice a second, the strongest signal first.
final class DeviceTable: Sendable {
  private struct State {
    var rows = DeviceRows<ScanResult>()
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
      state.rows.add(result, of: result.address, strength: result.rssi)
      if state.drawn.map({ now - $0 >= .milliseconds(500) }) ?? true {
        draw(&state, height: Style.rows)
        state.drawn = now
      }
    }
  }

  /// Draws all devices once more.
  func end() { state.withLock { draw(&$0, height: .max) } }

  private func draw(_ state: inout State, height: Int) {
    let lines = Self.lines(state.rows.strongestFirst, width: Style.columns).prefix(max(2, height - 1))
    // Back to the first line of the table; what is below it is erased (ECMA-48, 8.3.22 and 8.3.39).
    let back = state.lines == 0 ? "" : "\u{1B}[\(state.lines)A\r\u{1B}[J"
    Output.text(back + lines.map { $0 + "\n" }.joined())
    state.lines = lines.count
  }

  /// The head and a line for each device, in `width` columns.
  static func lines(_ results: [ScanResult], width: Int) -> [String] {
    let head = "RSSI  ADDRESS            NAME                CONTENT".shortened(to: width)
    return [Style.bold(head)]
      + results.map { result in
        var contents = result.contents
        let name = contents.localName.map { String(printable: String(decoding: $0.octets, as: UTF8.self)) } ?? ""
        contents.localName = nil
        let text = contents == AdvertisedData() ? "" : AdvertisementText.line(contents)
        let strength = (result.rssi.map(String.init) ?? "?").leftPadded(to: 4)
        let line = "\(strength)  \(result.address.octets)  \(name.shortened(to: 18).padded(to: 18))  \(text)"
        return line.shortened(to: width)
      }
  }
}

/// The last report of each device, for as many devices as the limit says.
struct DeviceRows<Report> {
  private var rows: [DeviceAddress: (report: Report, strength: Int)] = [:]

  /// Stores the report of a device; without a strength in dBm it is the weakest. With more devices than the limit the weakest is
  /// left out.
  mutating func add(_ report: Report, of device: DeviceAddress, strength: Int?) {
    rows[device] = (report, strength ?? -128)
    guard rows.count > DeviceTable.limit, let weakest = rows.min(by: { $0.value.strength < $1.value.strength }) else {
      return
    }
    rows[weakest.key] = nil
  }

  var strongestFirst: [Report] { rows.values.sorted { $0.strength > $1.strength }.map(\.report) }
}
