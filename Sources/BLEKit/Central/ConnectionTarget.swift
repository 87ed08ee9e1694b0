import BLEHost
public import BLEWire

/// Something to connect to: the address of a device, a result of a scan, or a condition that a search has to meet.
///
/// ```swift
/// let first = try await adapter.connect(to: address)
/// let second = try await adapter.connect(to: result)
/// let third = try await adapter.connect(to: .named("Polar H10"))
/// let fourth = try await adapter.connect(to: .advertising("180D"))
/// let fifth = try await adapter.connect(to: .at("C0:11:22:33:44:55"))
/// ```
///
/// A type of the program can conform with the ``connectionRoute`` of another target, to be connected to itself.
public protocol ConnectionTarget: Sendable {
  /// How the device is found.
  var connectionRoute: ConnectionRoute { get }
}

/// How the device of a ``ConnectionTarget`` is found: by its address, or by a search.
public struct ConnectionRoute: Sendable {
  enum Kind: Sendable {
    /// - phys: those on which the device has advertised; nil where that is not known.
    /// - name: the one that the device has advertised.
    case address(DeviceAddress, phys: Set<LEPHY>?, name: String?)
    case search(DeviceSelector)
  }

  let kind: Kind
}

extension DeviceAddress: ConnectionTarget {
  /// The address itself, without a search.
  public var connectionRoute: ConnectionRoute { ConnectionRoute(kind: .address(self, phys: nil, name: nil)) }
}

extension ScanResult: ConnectionTarget {
  /// The address that was found, on the PHYs on which the device advertises.
  public var connectionRoute: ConnectionRoute {
    ConnectionRoute(kind: .address(address, phys: report.phys, name: name))
  }
}

/// The device that a search is for: the first one that meets a condition.
///
/// The condition is compared with each advertisement of a device, not only with the first one, so that a device whose
/// name comes later, or whose data changes when a button is pressed, is found then.
///
/// ```swift
/// let level = try await adapter.withConnection(to: .named("Thermometer")) { device in
///   try await device.read("2A19", in: "180F", as: UInt8.self)
/// }
/// ```
public struct DeviceSelector: ConnectionTarget {
  /// The condition in words, for errors: `device named 'Thermometer'`.
  public let description: String
  let options: ScanOptions
  /// Why there can be no such device.
  let fault: BLEError?
  let accepts: @Sendable (ScanResult) -> Bool

  fileprivate init(
    _ description: String, services: [BluetoothUUID] = [], fault: BLEError? = nil,
    _ accepts: @escaping @Sendable (ScanResult) -> Bool
  ) {
    var options = ScanOptions.everyAdvertisement
    options.services = services
    (self.description, self.options, self.fault, self.accepts) = (description, options, fault, accepts)
  }

  /// A search.
  public var connectionRoute: ConnectionRoute { ConnectionRoute(kind: .search(self)) }

  static func at(_ address: DeviceAddress) -> Self {
    Self("device \(address)") { $0.address.identity == address.identity }
  }
}

extension DeviceSelector: CustomStringConvertible {}

extension ConnectionTarget where Self == DeviceSelector {
  /// A device that advertises this name, complete or shortened, in the same case. Padding is not part of a name
  /// (``DeviceText``).
  public static func named(_ name: String) -> Self {
    Self("device named '\(String(printable: name))'") { $0.name == name }
  }

  /// A device that advertises this service, in its lists or in the overflow area (``OverflowArea``).
  public static func advertising(_ service: BluetoothUUID) -> Self {
    Self("device that advertises the service \(service)", services: [service]) { _ in true }
  }

  /// A device with this address, public or random: a search finds which of them it is. A connection to a
  /// `DeviceAddress`, which has the kind, needs no search.
  ///
  /// - Parameter address: six octets in hexadecimal, most significant first, as in `C0:11:22:33:44:55`. The search for
  ///   any other text fails with ``BLEError/Kind/invalidArgument``.
  public static func at(_ address: String) -> Self {
    let text = String(printable: address)
    guard let octets = DeviceAddress(address, kind: .public)?.octets else {
      let fault = BLEError(
        .invalidArgument, "'\(text)' is not a device address: write six octets, such as C0:11:22:33:44:55")
      return Self("device \(text)", fault: fault) { _ in false }
    }
    return Self("device \(octets)") { $0.address.octets == octets }
  }

  /// A device with an advertisement for which `condition` is true.
  ///
  /// - Parameters:
  ///   - description: the condition in words, for errors: `no … was found`.
  ///   - condition: called with each advertisement, with what the device has advertised until then.
  public static func matching(
    describedAs description: String = "device that meets the condition",
    _ condition: @escaping @Sendable (ScanResult) -> Bool
  ) -> Self {
    Self(description, condition)
  }
}
