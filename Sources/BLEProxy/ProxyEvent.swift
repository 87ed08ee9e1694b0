public import BLEKit
public import BLEWire

/// An operation of a client on a device that it is connected to, for ``ProxyClient/perform(_:on:)``.
///
/// The operations on one device are performed one after the other, in the order of the calls; each ends with one
/// ``ProxyEvent/finished(_:_:_:)``. ``unpair`` and ``clearCache`` need no connection.
public enum ProxyOperation: Hashable, Sendable {
  /// Discovers services, characteristics and descriptors. The services of a bonded device with a Database Hash are kept
  /// with its bond, and are not discovered again until they change (Vol 3, Part G, 7.3). Outcome:
  /// ``ProxyOutcome/services(_:)``.
  case discoverServices
  /// Reads the whole value of a characteristic or descriptor. Outcome: ``ProxyOutcome/value(_:)``.
  case read(AttributeHandle)
  /// Writes a characteristic or descriptor: at most 512 octets, without a response at most the ATT_MTU minus 3.
  /// Outcome: ``ProxyOutcome/done``.
  ///
  /// Writes without a response are a stream without gaps: the connection ends if the device cannot get one of them,
  /// because it is too long, or because ``ProxyClient/hasRoom`` was ignored.
  case write(AttributeHandle, [UInt8], withResponse: Bool)
  /// Reports the values of a characteristic as ``ProxyEvent/value(_:_:_:)``. The client also writes the Client
  /// Characteristic Configuration descriptor. Outcome: ``ProxyOutcome/done``.
  case startNotifying(AttributeHandle)
  /// Reports no more values of a characteristic. The descriptor that the client has written is written once more, with
  /// 0. Outcome: ``ProxyOutcome/done``.
  case stopNotifying(AttributeHandle)
  /// Encrypts the link: with the key of a bond, or by pairing. ``ProxyConfiguration/pairing`` answers the questions of
  /// the pairing. Outcome: ``ProxyOutcome/done``.
  case pair
  /// Removes the bond of the device, whether it has one or not, and whether it is connected or not. A link stays.
  /// Outcome: ``ProxyOutcome/done``.
  case unpair
  /// Forgets the services of the device that were kept, whether it is connected or not. Outcome:
  /// ``ProxyOutcome/done``.
  case clearCache
  /// Requests another timing of the link. Outcome: ``ProxyOutcome/done``.
  case setConnectionParameters(ConnectionParameterRequest)
}

/// The result of a ``ProxyOperation``.
public enum ProxyOutcome: Hashable, Sendable {
  /// It has succeeded, and has no value.
  case done
  /// The value that was read.
  case value([UInt8])
  /// The services of the device, with their characteristics and descriptors.
  case services([ProxyService])
}

/// A service of a device, with everything in it.
public struct ProxyService: Hashable, Sendable {
  /// The type of the service.
  public let uuid: BluetoothUUID
  /// The handle of its declaration.
  public let handle: AttributeHandle
  /// In the order of their handles.
  public let characteristics: [ProxyCharacteristic]
}

/// A characteristic of a ``ProxyService``.
public struct ProxyCharacteristic: Hashable, Sendable {
  /// The type of the value.
  public let uuid: BluetoothUUID
  /// The handle of the value.
  public let handle: AttributeHandle
  /// The procedures that the device offers for it.
  public let properties: GATTCharacteristicProperties
  /// In the order of their handles.
  public let descriptors: [RemoteDescriptor]
}

/// An event for a ``ProxyClient``. Events arrive in order.
public enum ProxyEvent: Sendable {
  /// The client is connected to a device, with this ATT_MTU in octets.
  ///
  /// With a bond the link is encrypted. If the device has lost its bond, it is not, and operations on attributes fail
  /// with ``BLEError/Kind/security`` until ``ProxyOperation/unpair`` and ``ProxyOperation/pair`` have succeeded.
  case connected(DeviceAddress, mtu: Int)
  /// The client is not connected to a device: the link has ended or did not come up. The slot is free. The error is nil
  /// if the client has requested it.
  case disconnected(DeviceAddress, ProxyError?)
  /// An operation has ended.
  case finished(DeviceAddress, ProxyOperation, Result<ProxyOutcome, ProxyError>)
  /// A device has notified or indicated a value of a characteristic.
  case value(DeviceAddress, AttributeHandle, [UInt8])
  /// Connections were made or have ended.
  case slots(ConnectionSlots)
  /// The scan was started, has stopped or has another mode.
  case scanner(ScannerStatus)
  /// The client was closed by the proxy; no event follows. It did not take its events, or the proxy has ended.
  case closed(ProxyError)
}

/// The connections of a proxy.
public struct ConnectionSlots: Hashable, Sendable {
  /// The connections that are possible at once.
  public let limit: Int
  /// The devices that have a slot, in the order of the requests: from the request to connect until the link has ended.
  public let allocated: [DeviceAddress]
  /// The connections that can be made now.
  public var free: Int { max(0, limit - allocated.count) }

  /// Creates slots of which some are taken.
  public init(limit: Int, allocated: [DeviceAddress]) { (self.limit, self.allocated) = (limit, allocated) }
}

/// What the adapters of a proxy do for its clients.
public struct ScannerStatus: Hashable, Sendable {
  /// Whether the adapters scan.
  public enum State: Hashable, Sendable {
    /// No client wants advertisements.
    case idle
    /// The scan begins.
    case starting
    /// At least one adapter scans.
    case running
    /// No adapter can scan now; the proxy tries again.
    case failed
  }

  /// Whether the adapters scan now.
  public let state: State
  /// Whether scan requests are sent: one of the clients wants it.
  public let isActive: Bool
  /// Whether they are sent for clients that do not specify it: ``ProxyConfiguration/scansActively``.
  public let isActiveByDefault: Bool
}

/// Why an operation of a proxy has failed.
public struct ProxyError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The reason, for decisions of the program.
  public enum Kind: Hashable, Sendable {
    /// Every slot has a connection.
    case noFreeSlot
    /// Another client is connected to the device.
    case inUse
    /// The client is not connected to the device.
    case notConnected
    /// No connection in time.
    case timedOut
    /// Too many operations wait for the device, or too many events for the client.
    case limitExceeded
    /// The proxy or the client was closed.
    case closed
    /// The device, the link or the adapter: the error has the reason.
    case bluetooth(BLEError)
  }

  /// For the program.
  public let kind: Kind
  /// For the log: what has failed, why, and what to do.
  public let description: String

  package init(_ kind: Kind, _ description: String) { (self.kind, self.description) = (kind, description) }

  init(_ error: BLEError) { self.init(.bluetooth(error), error.description) }

  static func notConnected(_ address: DeviceAddress) -> Self {
    Self(.notConnected, "\(address) is not connected to this client: connect first")
  }
}

/// The advertisements that a client wants.
public struct ProxyScan: Hashable, Sendable {
  /// Whether scan requests are sent; nil leaves it to ``ProxyConfiguration/scansActively``. One client that wants them
  /// is enough.
  public var isActive: Bool?
  /// Only advertisements with this signal strength or a stronger one, in dBm; nil for all.
  public var minimumRSSI: Int?
  /// Only advertisements on these PHYs of the primary channels.
  public var phys: Set<LEPHY> = [.le1M, .leCoded]

  /// All advertisements.
  public init() {}
}

/// The limits and policies of a proxy.
public struct ProxyConfiguration: Sendable {
  /// The connections of each adapter at once. A controller may have fewer, which it says only by rejecting one: from
  /// then on, ``ConnectionSlots/limit`` has the number that it has, for an hour at most.
  public var connectionLimit = 32
  /// The attempts to connect of each adapter at once. Others wait, and have their slots already: controllers look for
  /// few devices at a time.
  public var attemptLimit = 8
  /// How long a connection is tried; nil without a limit.
  public var connectTimeout: Duration? = .seconds(30)
  /// Whether scan requests are sent for clients that do not specify it.
  public var scansActively = true
  /// Answers the questions of pairings.
  public var pairing = PairingPolicy.decline
  /// Events that wait for one client. One more closes it: values are never dropped.
  public var eventLimit = 4096
  /// The octets of the values and services of these events. More close the client; an event that waits alone may have
  /// any number.
  public var eventOctets = 1 << 20
  /// Advertisements that wait for one client. One more drops the oldest, and is counted.
  public var advertisementLimit = 1024
  /// Operations that wait for one device, including the one that is performed: ``ProxyClient/hasRoom``. One more fails.
  public var operationLimit = 256
  /// Receives log lines for the operator, on any thread.
  public var log: @Sendable (String) -> Void = { _ in }

  /// Creates the default configuration.
  public init() {}
}
