import BLEATT
import BLEGATT
import BLEHCI
import BLEL2CAP
import BLESMP
import BLEWire

/// One link: the ATT server and client of its peer, and the L2CAP channels below them.
struct Link: Sendable {
  let peer: PeerID
  let handle: ConnectionHandle
  /// The address that the peer uses on this link.
  let address: DeviceAddress
  /// The identity of the bond that fits the peer's address, else the same. A claim until the link has proven the bond.
  var identity: DeviceAddress
  /// The address that the application is given: ``identity``, or one that was drawn for this link, because another link was
  /// reported by that identity when this one came up.
  var reportedAddress: DeviceAddress
  /// Ours on this link.
  let ownAddress: DeviceAddress
  let role: Connection.Role
  var timing: LinkTiming
  var security = SecurityState.none
  var cipher = LinkCipher()
  /// Our security manager, where the controller is ours alone.
  var manager: OwnSecurityManager
  /// The same where the system's security manager pairs.
  var system = SystemPairing()
  /// The identity that the system has named in a pairing on this link, by which it calls the device since.
  var systemIdentity: DeviceAddress?

  var reassembler = Reassembler()
  var signalling: SignallingChannel
  var server: LinkServer
  var client: LinkClient
  /// The owner that asked for other connection parameters last.
  var parametersOwner = OwnerID.process
  /// We asked for the end of the link; nothing more is sent on it.
  var isClosing = false
  /// The command to end it is on its way.
  var hasAskedToEnd = false

  init(
    peer: PeerID, handle: ConnectionHandle, address: DeviceAddress, identity: DeviceAddress,
    ownAddress: DeviceAddress, role: Connection.Role, timing: LinkTiming, users: [OwnerID] = [],
    _ configuration: HostConfiguration
  ) {
    self.peer = peer
    self.handle = handle
    self.address = address
    self.identity = identity
    reportedAddress = identity
    self.ownAddress = ownAddress
    self.role = role
    self.timing = timing
    signalling = SignallingChannel(role: role == .central ? .central : .peripheral)
    server = LinkServer(peer: peer, configuration)
    manager = OwnSecurityManager(
      peer: peer, handle: handle, isCentral: role == .central, own: ownAddress, other: address.identity)
    client = LinkClient(peer: peer, users: users, maximumMTU: configuration.serverLimits.maximumMTU)
  }

  /// When one of its machines next has work, if ever.
  var deadline: Instant? {
    let halves = Instant?.nearer(server.deadline, client.deadline)
    return .nearer(halves, .nearer(signalling.deadline, manager.deadline))
  }
}
