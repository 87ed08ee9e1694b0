import BLEGAP
import BLEKit
import BLETrace
import BLEWire
import Synchronization
import ToolCore

/// A table of devices that is drawn again twice a second, the strongest signal first.
final class DeviceTable: Sendable {
  private struct State {
    var rows = DeviceRows<Row>()
    var drawn: ContinuousClock.Instant?
  }

  /// One device.
  struct Row: Sendable {
    /// In dBm.
    var strength: Int?
    var address: DeviceAddress
    /// The last name that the device has advertised.
    var name: String?
    var contents: AdvertisedData
  }

  /// The maximum number of devices that are kept; of more, the weakest is left out.
  static let limit = 1_000
  /// The columns before the name, and before the content if both are in one line.
  private static let (nameColumn, contentColumn) = (32, 50)
  /// A narrower window has the content of a device in a line of its own, indented.
  private static let narrowest = 77
  private static let indent = 6

  /// Whether the content is shown whole, in as many lines as it needs.
  private let isWide: Bool
  private let state = Mutex(State())

  init(isWide: Bool) { self.isWide = isWide }

  /// Adds a report, and draws the table when it is older than half a second.
  func add(_ result: ScanResult) {
    let now = ContinuousClock.now
    state.withLock { state in
      let row = Row(
        strength: result.rssi, address: result.address, name: result.name, contents: result.contents)
      state.rows.add(row, of: result.address, strength: result.rssi)
      guard state.drawn.map({ now - $0 >= .milliseconds(500) }) ?? true else { return }
      let (width, height) = (Style.columns, Style.rows)
      Screen.show(Self.page(state.rows.strongestFirst, width: width, height: height, isWide: isWide))
      state.drawn = now
    }
  }

  /// Draws the table before the first report.
  func begin() { Screen.show(Self.page([], width: Style.columns, height: Style.rows, isWide: isWide)) }

  /// Prints all devices to the first screen, where they remain.
  func end() {
    Screen.leave()
    state.withLock { state in
      if state.drawn == nil { return }
      for line in Self.lines(state.rows.strongestFirst, width: Style.columns, isWide: isWide) { Output.line(line) }
    }
  }

  /// The head and the devices that fit into `height` lines, with the number of those that do not.
  static func page(_ rows: [Row], width: Int, height: Int, isWide: Bool) -> [String] {
    var lines = [head(width)]
    if rows.isEmpty, height > 1 { lines.append(Style.faint("scanning: no device so far".shortened(to: width))) }
    for (number, row) in rows.enumerated() {
      let next = Self.lines(row, width: width, isWide: isWide)
      let isLast = number == rows.count - 1
      guard lines.count + next.count <= (isLast ? height : height - 1) else {
        let text = "… \(rows.count - number) more, with weaker signals"
        return lines.prefix(max(1, height - 1)) + (height > 1 ? [Style.faint(text.shortened(to: width))] : [])
      }
      lines += next
    }
    return lines
  }

  /// The head and all devices, in `width` columns.
  static func lines(_ rows: [Row], width: Int, isWide: Bool) -> [String] {
    [head(width)] + rows.flatMap { lines($0, width: width, isWide: isWide) }
  }

  private static func head(_ width: Int) -> String {
    let text = "RSSI  ADDRESS".padded(to: nameColumn) + "NAME"
    return Style.bold((width < narrowest ? text : text.padded(to: contentColumn) + "CONTENT").shortened(to: width))
  }

  private static func lines(_ row: Row, width: Int, isWide: Bool) -> [String] {
    let name = row.name.map { String(printable: $0) } ?? ""
    let content = AdvertisementText.content(row.contents)
    // A device without a name and content has a line that says so.
    let text = content.isEmpty && name.isEmpty ? "no name and no services" : content
    let head = "\((row.strength.map(String.init) ?? "?").leftPadded(to: 4))  \(row.address.word)  "
    let isNarrow = width < narrowest
    let room = max(20, width - (isNarrow ? indent : contentColumn))
    let parts = isWide ? text.wrapped(to: room) : text.isEmpty ? [] : [text.shortened(to: room)]
    if isNarrow {
      let margin = String(repeating: " ", count: indent)
      let first: String = head + name.shortened(to: max(1, width - nameColumn))
      let others: [String] = parts.map { margin + $0 }
      return ([first] + others).map { $0.shortened(to: width) }
    }
    let column = contentColumn - nameColumn - 2
    let first: String = head + name.shortened(to: column).padded(to: column + 2) + (parts.first ?? "")
    let margin = String(repeating: " ", count: contentColumn)
    let others: [String] = parts.dropFirst().map { margin + $0 }
    return [first] + others
  }
}

/// The last report of each device, for as many devices as the limit allows.
struct DeviceRows<Report> {
  private var rows: [DeviceAddress: (report: Report, strength: Int)] = [:]

  /// Stores the report of a device; without a strength in dBm it is the weakest. With more devices than the limit the
  /// weakest is left out.
  mutating func add(_ report: Report, of device: DeviceAddress, strength: Int?) {
    rows[device] = (report, strength ?? -128)
    guard rows.count > DeviceTable.limit, let weakest = rows.min(by: { $0.value.strength < $1.value.strength }) else {
      return
    }
    rows[weakest.key] = nil
  }

  var strongestFirst: [Report] { rows.values.sorted { $0.strength > $1.strength }.map(\.report) }
}
