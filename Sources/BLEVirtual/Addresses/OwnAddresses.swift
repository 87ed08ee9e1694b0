internal import BLEHCI
internal import BLEWire

/// The own address that an activity of the controller needs (Own_Address_Type of its command).
struct OwnAddressRequest: Sendable {
  var type: HCI.OwnAddressType
  /// The random address of the activity, if it has one: that of its advertising set, or that of the controller.
  var random: BD_ADDR?
  /// The peer that a private address is for; nil for none in particular.
  var peer: DeviceAddress?

  /// Whether the controller generates a private address if the resolving list has the peer.
  var isResolvable: Bool { type == .resolvableElsePublic || type == .resolvableElseRandom }
}

/// The public address of a controller, and the random address that its host sets (Vol 4, Part E, 7.4.6 and 7.8.4).
struct OwnAddresses: Sendable {
  let publicAddress: BD_ADDR
  private(set) var random: BD_ADDR?

  init(publicAddress: BD_ADDR) { self.publicAddress = publicAddress }

  /// Sets the random address, unless an activity uses it.
  mutating func setRandom(_ address: BD_ADDR, isInUse: Bool) -> HCIErrorCode {
    guard !isInUse else { return .commandDisallowed }
    random = address
    return .success
  }

  /// Whether `address` is one of these addresses.
  func contains(_ address: DeviceAddress) -> Bool {
    if address.identity == DeviceAddress(octets: publicAddress, kind: .public) { return true }
    guard let random else { return false }
    return address.identity == DeviceAddress(octets: random, kind: .random)
  }

  /// The address for an activity, if it gets no private address; nil for a random address that the host has not set.
  func address(for request: OwnAddressRequest) -> DeviceAddress? {
    if request.type == .public || request.type == .resolvableElsePublic {
      return DeviceAddress(octets: publicAddress, kind: .public)
    }
    return request.random.map { DeviceAddress(octets: $0, kind: .random) }
  }
}
