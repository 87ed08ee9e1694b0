import BLEHCI
import BLEWire

/// The periodic advertising trains that a trace shows, by their sync handles.
struct TraceTrains {
  /// The trains that are kept: as many as a host can ask for, and more than controllers have.
  static let limit = 256

  private var trains: [UInt16: String] = [:]
  /// The sync handles whose last report is to be continued.
  private var continued: Set<UInt16> = []

  /// A controller receives a train from now on.
  ///
  /// - Returns: what is known of it.
  mutating func open(
    _ handle: UInt16, _ advertiser: DeviceAddress, set: UInt8, interval: UInt16
  ) -> String {
    let name = "set \(set) of \(advertiser)"
    continued.remove(handle)
    if trains[handle] != nil || trains.count < Self.limit { trains[handle] = name }
    return "\(name), every \(Double(interval) * 1.25) ms, sync handle \(handle)"
  }

  /// The train of a sync handle.
  func name(of handle: UInt16) -> String { trains[handle] ?? "sync handle \(handle)" }

  /// The details of a report (Vol 4, Part E, 7.7.65.15).
  mutating func report(_ handle: UInt16, _ rssi: Int8, _ data: Bytes, _ status: UInt8) -> String {
    let strength = rssi == 127 ? "" : ", \(rssi) dBm"
    guard status <= 2 else { return "\(name(of: handle)): an event was not received" }
    // A part of longer data has no structure that can be read alone.
    let isRest = continued.contains(handle)
    if status != 1 { continued.remove(handle) } else if trains[handle] != nil { continued.insert(handle) }
    let text = status == 0 && !isRest ? AdvertisementText.line(data) : "\(data.count) octets"
    let end = ["", ", more follow", ", the rest was not received"][Int(status)]
    return "\(name(of: handle))\(strength), \(text)\(end)"
  }
}
