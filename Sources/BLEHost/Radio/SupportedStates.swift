/// What the link layer of a controller can do at the same time (Vol 4, Part E, 7.8.27).
struct SupportedStates: Equatable, Sendable {
  /// An activity of the link layer, as far as the host combines it with another one.
  enum Activity: Sendable {
    case connectableAdvertising, passiveScanning, activeScanning, initiating, central, peripheral
  }

  /// LE_States: bit 0 is the lowest one. Zero from a controller that does not return them: all is tried then.
  var bits: UInt64 = 0

  /// Whether the two activities go on at the same time.
  func allow(_ first: Activity, beside second: Activity) -> Bool {
    guard bits != 0, let bit = Self.bit(first, second) ?? Self.bit(second, first) else { return true }
    return bits >> bit & 1 == 1
  }

  /// Whether the activity goes on beside links with these roles.
  func allow(_ activity: Activity, beside links: LinkRoles) -> Bool {
    (!links.hasCentral || allow(activity, beside: .central))
      && (!links.hasPeripheral || allow(activity, beside: .peripheral))
  }

  private static func bit(_ first: Activity, _ second: Activity) -> Int? {
    switch (first, second) {
    case (.passiveScanning, .initiating): 22
    case (.activeScanning, .initiating): 23
    case (.passiveScanning, .central): 24
    case (.activeScanning, .central): 25
    case (.passiveScanning, .peripheral): 26
    case (.activeScanning, .peripheral): 27
    case (.connectableAdvertising, .initiating): 32
    case (.connectableAdvertising, .central): 35
    case (.connectableAdvertising, .peripheral): 38
    default: nil  // No bit is defined for the others.
    }
  }
}
