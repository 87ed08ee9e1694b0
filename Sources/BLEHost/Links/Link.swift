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
  /// The peer's address as it is on the air.
  let address: DeviceAddress
  /// The identity of the bond that fits the peer's address, else the same. A claim until the link has proven the bond.
  var identity: DeviceAddress
  /// The address that the application is given: ``identity``, or one that was drawn for this link, because another link was
  /// reported by that identity when this one came up.
  var reportedAddress: DeviceAddress
  /// Ours on this link.
  let ownAddress: DeviceAddress
  let role: Connection.Role
  /// The owners that connected this link or operate on it, as a central: they receive what the peer's server sends unasked.
  var users: [OwnerID] = []
  var timing: LinkTiming
  var security = SecurityState.none
  var cipher = LinkCipher()
  /// The security manager's machine, made when it is first needed.
  var pairing: PairingMachine?
  /// The same where the system's security manager pairs.
  var system = SystemPairing()
  /// The identity that the system has named in a pairing on this link, by which it calls the device since.
  var systemIdentity: DeviceAddress?
  /// Whether our client may send, on a link to a bonded peripheral.
  var reconnection = Reconnection.none
  /// What our client waits with until the link is secured.
  var demands = ParkedOperations()
  /// What waits for sign counters to be stored.
  var signing = PendingSignedWrites()

  var reassembler = Reassembler()
  var signalling: SignallingChannel
  var server: GATTServer
  var client: GATTClient
  /// The subscriptions that the application was told of: those that the link may be sent.
  var reportedSubscriptions: [AttributeID: Subscription] = [:]
  /// The updates whose notifications are on their way on this link, in order.
  var notifications: [UpdateToken] = []
  /// The update each indication belongs to, in the order they were handed to the server; nil for the stack's own.
  var indications: [Indication] = []
  /// The request that the owners of its attributes answer.
  var request: PendingAnswer?
  /// The owner of each operation of our client that has not ended.
  var operationOwners: [GATTClient.OperationID: OwnerID] = [:]
  /// The owner that asked for other connection parameters last.
  var parametersOwner = OwnerID.process
  /// We asked for the end of the link; nothing more is sent on it.
  var isClosing = false
  /// The command to end it is on its way.
  var hasAskedToEnd = false

  struct Indication: Equatable, Sendable {
    var attribute: AttributeID
    var update: UpdateToken
  }

  init(
    peer: PeerID, handle: ConnectionHandle, address: DeviceAddress, identity: DeviceAddress,
    ownAddress: DeviceAddress, role: Connection.Role, timing: LinkTiming, limits: GATTServer.Limits
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
    server = GATTServer(limits: limits)
    client = GATTClient()
  }

  /// When one of its machines next has work, if ever.
  var deadline: Instant? {
    let machines = Instant?.nearer(.nearer(server.deadline, client.deadline), signalling.deadline)
    let waits = Instant?.nearer(reconnection.deadline, signing.deadline)
    return .nearer(.nearer(machines, pairing?.deadline), waits)
  }
}
