import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
public import BLESMP
public import BLEWire

/// The configuration of a ``Peripheral``. It is fixed when the peripheral is created.
public struct PeripheralConfiguration: Sendable {
  /// The Device Name characteristic of the GAP service, at most 248 octets of UTF-8 (Vol 3, Part C, 12.1).
  public var name: String
  /// The Appearance characteristic of the GAP service (Vol 3, Part C, 12.2); 0 is unknown.
  public var appearance: UInt16 = 0
  /// A static random address, whose two most significant bits are 1 (Vol 6, Part B, 1.3.2.1). Nil: the public address
  /// of the controller. Centrals know a bonded device by its address, so a device always uses the same one.
  public var address: BD_ADDR?
  /// How the peripheral pairs; nil rejects every attempt. ``Peripheral/setPairing(_:now:)`` changes it.
  public var pairing: PairingSettings? = defaultPairing
  /// The sizes of all tables and queues.
  public var limits = PeripheralLimits()

  /// A configuration with the default pairing and limits.
  public init(name: String) { self.name = name }

  /// Just Works with bonding, by LE Secure Connections or LE legacy pairing, without signing keys: each signed write
  /// would write a counter to the store of bonds.
  public static var defaultPairing: PairingSettings {
    var pairing = PairingSettings()
    pairing.initiatorKeys = [.encKey, .idKey]
    pairing.responderKeys = [.encKey, .idKey]
    return pairing
  }

  var host: HostConfiguration {
    var host = HostConfiguration()
    let limits = limits.bounded
    host.deviceName = name
    host.appearance = appearance
    host.staticAddress = address
    host.pairing = pairing
    host.maximumBonds = limits.bonds
    // One more link is up while it is being ended.
    host.expectedLinks = min(limits.links, 64) + 1
    host.reservesMemory = true
    host.maximumPendingUpdates = limits.updates
    // Responses, signalling and pairing find room beside the values (``HostConfiguration/maximumPendingUpdates``).
    let frames = limits.updates + 16
    host.linkQueue = ACLScheduler.Limits(frames: frames, octets: frames * (limits.mtu + 4))
    host.serverLimits = GATTServer.Limits(
      maximumMTU: limits.mtu, maximumPreparedWrites: (limits.preparedOctets + 17) / 18,
      maximumPreparedOctets: limits.preparedOctets, maximumWaitingPDUs: 4, maximumQueuedIndications: limits.updates)
    host.maximumAdvertisements = 1
    host.maximumPendingConnections = 0
    host.maximumSynchronizations = 0
    return host
  }
}

/// The sizes of the tables and queues of a ``Peripheral``.
///
/// They have memory for their limits: those of the host from the start, those of a link when it comes up. A number out
/// of range is taken as the nearest one in range. Of all but ``packetOctets``, none is above 65,535.
public struct PeripheralLimits: Hashable, Sendable {
  /// The number of links. The peripheral does not advertise while so many are up, and ends one more immediately.
  public var links = 1
  /// The number of bonds. One more removes the bond without authentication whose device has not connected for the
  /// longest time. If all are authenticated, the new pairing makes no bond.
  public var bonds = 4
  /// The number of notifications and indications of one link that the controller has not sent. For one more,
  /// ``Peripheral/update(_:_:to:now:)`` reports ``UpdateResult/full``.
  public var updates = 8
  /// The number of events that wait for ``Peripheral/nextEvent()``. Later ones are discarded and counted:
  /// ``PeripheralEvent/eventsDropped(_:)``; only changes of bonds wait, the last one of each device.
  public var events = 32
  /// The largest ATT_MTU that the peripheral accepts, in octets, 23 to 517.
  public var mtu = 247
  /// The octets of the prepared writes of one client. More are rejected with Prepare Queue Full (0x09).
  public var preparedOctets = 512
  /// The longest packet from the controller, in octets, packet indicator included. A longer one throws
  /// `H4Error.tooLong`.
  public var packetOctets = 1029

  /// The default limits.
  public init() {}

  /// The limits that are kept. Sums of them fit an integer of 32 bits.
  var bounded: Self {
    func bounded(_ limit: Int, from minimum: Int = 0, to maximum: Int = 0xFFFF) -> Int {
      min(max(minimum, limit), maximum)
    }
    var limits = self
    limits.links = bounded(links)
    limits.bonds = bounded(bonds)
    limits.updates = bounded(updates, from: 1)
    limits.events = bounded(events)
    limits.mtu = bounded(mtu, from: ATT.defaultMTU, to: ATT.maximumMTU)
    limits.preparedOctets = bounded(preparedOctets)
    return limits
  }
}
