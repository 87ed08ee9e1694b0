public import BLEWire

/// The assignment of devices to gateways.
///
/// Each gateway publishes a claim for each device that it receives: the signal strength, whether it serves the device,
/// and whether it is connected to it. All gateways receive all claims and decide by the same rules, so that one of them
/// serves a device:
///
/// - A gateway that is connected to the device keeps it.
/// - Otherwise the one with the strongest signal serves it. It takes the device over from another one only if its
///   signal is stronger by ``hysteresis``.
/// - A claim is valid for ``lifetime``. A gateway that has ended or no longer receives the device therefore loses it.
/// - Of two that serve the same device, the one with the lower rank releases it. Connected comes before not connected,
///   then the stronger signal, then the name that is first in the alphabet.
///
/// Times are durations on one clock that does not go backwards.
public struct DeviceClaims: Sendable {
  /// The claim of a gateway to one device.
  public struct Claim: Codable, Equatable, Sendable {
    /// The signal strength in dBm, smoothed.
    public var rssi: Int8
    /// Whether the gateway serves the device.
    public var serves: Bool
    /// Whether the gateway is connected to the device.
    public var connected: Bool

    public init(rssi: Int8, serves: Bool, connected: Bool) {
      self.rssi = rssi
      self.serves = serves
      self.connected = connected
    }
  }

  /// A decision of ``update(now:)``.
  public enum Change: Equatable, Sendable {
    /// This gateway serves the device from now on.
    case taken(DeviceAddress)
    /// This gateway no longer serves the device.
    case released(DeviceAddress)
  }

  /// The number of dB by which the signal at another gateway has to be stronger for it to take the device over.
  public static let hysteresis = 6
  /// How long a claim is valid.
  public static let lifetime = Duration.seconds(30)
  /// How often a claim is published again.
  public static let interval = Duration.seconds(10)
  /// How long a gateway receives the claims of others before it takes a device.
  public static let settlingTime = Duration.seconds(3)
  /// The maximum number of devices. One more removes the one that was received least recently: one that is not served,
  /// otherwise one that is not connected.
  public static let deviceLimit = 4096
  /// Other gateways that are remembered for one device; one more removes the weakest.
  public static let gatewayLimit = 32

  private struct Other {
    var claim: Claim
    var expires: Duration
  }

  private struct Device {
    /// The signal strength in sixteenths of a dB.
    var strength: Int
    var heard: Duration
    var serves = false
    var isConnected = false
    var published: Duration?
    var publishedClaim: Claim?
    var others: [String: Other] = [:]

    var claim: Claim { Claim(rssi: Int8(clamping: strength / 16), serves: serves, connected: isConnected) }
  }

  private let gateway: String
  private var devices: [DeviceAddress: Device] = [:]
  private var started: Duration?
  /// When all claims were last published because of another gateway.
  private var appeared: Duration?

  public init(gateway: String) { self.gateway = gateway }

  /// The devices that this gateway serves.
  public func serves(_ address: DeviceAddress) -> Bool { devices[address]?.serves ?? false }

  /// Whether any gateway serves or receives the device.
  public func isKnown(_ address: DeviceAddress, now: Duration) -> Bool {
    guard let device = devices[address] else { return false }
    return device.isConnected || now - device.heard < Self.lifetime
      || device.others.values.contains { $0.expires > now }
  }

  /// Whether another gateway serves the device, and this one does not.
  public func isServedByAnother(_ address: DeviceAddress, now: Duration) -> Bool {
    guard let device = devices[address], !device.serves else { return false }
    return device.others.values.contains { $0.claim.serves && $0.expires > now }
  }

  public var count: Int { devices.count }

  /// The number of other gateways that are remembered for a device.
  func gateways(of address: DeviceAddress) -> Int { devices[address]?.others.count ?? 0 }

  /// The connection to the broker exists since `now`, or is lost.
  ///
  /// Without it nothing is known of the other gateways, so nothing changes.
  public mutating func brokerChanged(isConnected: Bool, now: Duration) {
    started = isConnected ? now : nil
    // All are published again.
    for address in devices.keys { devices[address]?.published = nil }
  }

  /// Another gateway has started: it needs the claims of this one.
  ///
  /// It takes no device before ``settlingTime`` is over. Within that time after it published all claims this gateway
  /// does not do so again, however many gateways appear: they get them as they are published every ``interval``.
  public mutating func gatewayAppeared(now: Duration) {
    if let appeared, now - appeared < Self.settlingTime { return }
    appeared = now
    for address in devices.keys { devices[address]?.published = nil }
  }

  /// Another gateway has ended: its claims are void.
  public mutating func gatewayEnded(_ other: String) {
    for address in devices.keys { devices[address]?.others[other] = nil }
  }

  /// An advertisement of the device was received.
  ///
  /// - Parameter rssi: the signal strength in dBm, -127 to 20; a value outside of -128 to 127 counts as the nearer of
  ///   these.
  public mutating func heard(_ address: DeviceAddress, rssi: Int, now: Duration) {
    let rssi = Int(Int8(clamping: rssi))
    guard var device = devices[address] else {
      makeRoom()
      devices[address] = Device(strength: rssi * 16, heard: now)
      return
    }
    // A moving average: one eighth of the difference for each report. The first report after a pause begins anew.
    let isContinued = now - device.heard < Self.lifetime
    device.strength = isContinued ? device.strength + (rssi * 16 - device.strength) / 8 : rssi * 16
    device.heard = now
    devices[address] = device
  }

  private mutating func makeRoom() {
    guard devices.count >= Self.deviceLimit else { return }
    // A connected device does not advertise, and would always be the one that was received least recently.
    let idle = devices.filter { !$0.value.isConnected }
    let least =
      idle.filter { !$0.value.serves }.min { $0.value.heard < $1.value.heard }
      ?? idle.min { $0.value.heard < $1.value.heard } ?? devices.min { $0.value.heard < $1.value.heard }
    if let least { devices[least.key] = nil }
  }

  /// A claim of another gateway was received.
  public mutating func received(_ claim: Claim, of other: String, for address: DeviceAddress, now: Duration) {
    guard other != gateway else { return }
    if devices[address] == nil {
      // Received by the other gateway only: a request for the device is for that gateway.
      makeRoom()
      devices[address] = Device(strength: -128 * 16, heard: now - Self.lifetime)
    }
    devices[address]?.others[other] = Other(claim: claim, expires: now + Self.lifetime)
    if let others = devices[address]?.others, others.count > Self.gatewayLimit,
      let weakest = others.min(by: { $0.value.claim.rssi < $1.value.claim.rssi })
    {
      devices[address]?.others[weakest.key] = nil
    }
  }

  /// This gateway is connected to the device, or no longer.
  public mutating func connectionChanged(_ address: DeviceAddress, isConnected: Bool, now: Duration) {
    devices[address]?.isConnected = isConnected
    // A connected device may not have advertised: it has the lifetime of a claim to be received again.
    if !isConnected { devices[address]?.heard = now }
  }

  /// Decides again. Call it once a second.
  ///
  /// - Returns: the devices that this gateway takes and releases, in the order of their addresses.
  public mutating func update(now: Duration) -> [Change] {
    guard let started, now - started >= Self.settlingTime else { return [] }
    var changes: [Change] = []
    for (address, device) in devices {
      let others = device.others.filter { $0.value.expires > now }
      devices[address]?.others = others
      let isHeard = device.isConnected || now - device.heard < Self.lifetime
      let serves = isHeard && shouldServe(device, others)
      if serves != device.serves {
        devices[address]?.serves = serves
        changes.append(serves ? .taken(address) : .released(address))
      }
      if !isHeard, others.isEmpty { devices[address] = nil }
    }
    return changes.sorted { Self.address(of: $0).isOrdered(before: Self.address(of: $1)) }
  }

  private static func address(of change: Change) -> DeviceAddress {
    switch change {
    case .taken(let address), .released(let address): address
    }
  }

  private func shouldServe(_ device: Device, _ others: [String: Other]) -> Bool {
    let own = (device.claim, gateway)
    let serving = others.filter { $0.value.claim.serves }.map { ($0.value.claim, $0.key) }
      .max { Self.rank($1, isAbove: $0) }
    if device.serves || device.isConnected {
      guard let serving else { return true }
      return Self.rank(own, isAbove: serving)
    }
    if let serving {
      return !serving.0.connected && Int(own.0.rssi) >= Int(serving.0.rssi) + Self.hysteresis
        && others.allSatisfy { Self.rank(own, isAbove: ($0.value.claim, $0.key)) }
    }
    return others.allSatisfy { Self.rank(own, isAbove: ($0.value.claim, $0.key)) }
  }

  private static func rank(_ one: (Claim, String), isAbove other: (Claim, String)) -> Bool {
    if one.0.connected != other.0.connected { return one.0.connected }
    if one.0.rssi != other.0.rssi { return one.0.rssi > other.0.rssi }
    return one.1 < other.1
  }

  /// The claims that are to be published now: new ones, changed ones, and those that were last published ``interval``
  /// ago.
  public mutating func claimsToPublish(now: Duration) -> [(DeviceAddress, Claim)] {
    var claims: [(DeviceAddress, Claim)] = []
    for (address, device) in devices where device.isConnected || now - device.heard < Self.lifetime {
      let claim = device.claim
      let isDue = device.published.map { now - $0 >= Self.interval } ?? true
      let isNew =
        device.publishedClaim.map { $0.serves != claim.serves || $0.connected != claim.connected } ?? true
      guard isDue || isNew else { continue }
      devices[address]?.published = now
      devices[address]?.publishedClaim = claim
      claims.append((address, claim))
    }
    return claims.sorted { $0.0.isOrdered(before: $1.0) }
  }
}
