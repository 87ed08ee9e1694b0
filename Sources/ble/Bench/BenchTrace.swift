import BLEHCI
import BLEKit
import BLELinux
import BLETrace
import BLEWire
import Glibc
import ToolCore

/// The packet trace of `ble bench`: the file of `--snoop` or of BLE_SNOOP, or a temporary one.
struct BenchTrace: Sendable {
  let path: String
  /// The folder to remove at the end.
  private let folder: String?

  init(_ arguments: ParsedArguments) throws {
    if let path = try arguments.adapterOptions().snoop ?? Environment.value("BLE_SNOOP"), !path.isEmpty {
      (self.path, folder) = (path, nil)
      return
    }
    var name = Array("\(Environment.value("TMPDIR") ?? "/tmp")/ble-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&name) != nil else {
      throw ToolError.output("no temporary folder can be made: \(ToolError.text(ofError: errno))")
    }
    let folder = String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    (path, self.folder) = ("\(folder)/bench.btsnoop", folder)
  }

  func remove() {
    guard let folder else { return }
    unlink(path)
    rmdir(folder)
  }

  /// What the link has carried in the last `seconds`; nil if the trace has no link.
  func report(_ seconds: Double, _ direction: LinkUse.Direction) -> LinkReport? {
    let end = WallClock.microseconds()
    guard let octets = try? Files.octets(of: path), let trace = try? BTSnoopFile(octets[...]) else { return nil }
    return LinkUse(trace, from: end - Int64(seconds * 1_000_000), to: end, direction).map { LinkReport($0) }
  }
}

/// The share of a link's capacity, as `ble bench` prints it.
struct LinkReport: Encodable, Sendable {
  var direction: LinkUse.Direction
  /// The connection interval in milliseconds.
  var interval: Double
  var transmitPHY: String
  var receivePHY: String
  /// The longest payload of a packet, in octets.
  var transmitOctets: Int
  var receiveOctets: Int
  var encrypted: Bool
  /// The octets of ACL data that could be carried and that were carried, in a second.
  var limit: Double
  var carried: Double
  var share: Double
  /// The connection intervals of the measurement; those in which nothing was carried, and those with room left in which
  /// this device had no packet for its controller.
  var intervals: Int
  var empty: Int
  var withoutPacket: Int

  init(_ use: LinkUse) {
    let parameters = use.parameters
    direction = use.direction
    let (transmit, receive) = (parameters.packets.transmit, parameters.packets.receive)
    interval = Double(parameters.interval) * 1.25
    (transmitPHY, receivePHY) = (Self.name(transmit.phy), Self.name(receive.phy))
    (transmitOctets, receiveOctets) = (transmit.payload, receive.payload)
    encrypted = transmit.isEncrypted
    (limit, carried) = (Double(use.limit) / use.seconds, Double(use.octets) / use.seconds)
    share = use.share
    (intervals, empty, withoutPacket) = (use.count, use.empty, use.withoutPacket)
  }

  private static func name(_ phy: HCI.PHY) -> String { phy.name ?? "\(phy)" }

  var line: String {
    let octets = direction == .receive ? receiveOctets : transmitOctets
    let phy = direction == .receive ? receivePHY : transmitPHY
    let parameters =
      "(\(phy), \(interval.text(decimals: 2)) ms, \(octets) octets\(encrypted ? ", encrypted" : ""))"
    let (carried, limit) = ((carried / 1_000).text(decimals: 1), (limit / 1_000).text(decimals: 1))
    // The trace's clock and the controller's differ: a full link can seem to carry a little more.
    guard share <= 1.01 else {
      return "  \(carried) kB/s on the link \(parameters), without the timing of a radio, whose limit is \(limit) kB/s"
    }
    var text = "  \((min(share, 1) * 100).text(decimals: 1)) %: \(carried) of \(limit) kB/s on the link \(parameters)"
    text += ", \(empty) of \(intervals) intervals empty"
    if withoutPacket > 0 { text += ", the controller had no packet in \(withoutPacket)" }
    return text
  }
}
