import BLEATT
import BLEGATT
import BLEL2CAP
import BLEWire

/// The link has a server alone: operations are rejected. What the server of the peer sends by itself is ignored, and an
/// indication is confirmed, because the server would end the link otherwise (Vol 3, Part F, 3.3.3).
struct LinkClient: Sendable {
  struct Output: Sendable {
    var gatt = GATTClient.Output()
    var frames: [BearerFrame] = []
    var effects: [Effect<LinkEffect>] = []
    var isEmpty: Bool { gatt.pdus.isEmpty && effects.isEmpty }

    mutating func removeAll() {
      gatt.pdus.removeAll()
      effects.removeAll(keepingCapacity: true)
    }
  }

  /// The link has no bearers of a client.
  struct Bearers: Sendable {
    var isEnabled: Bool {
      get { false }
      set {}
    }
    var wanted: Int {
      get { 0 }
      set {}
    }
    func add(_ channel: ChannelID, mtu: Int) {}
    func setMTU(_ mtu: Int, of channel: ChannelID) {}
  }

  private let peer: LinkID
  /// The owners that have connected the link.
  private(set) var users: [OwnerID]
  private(set) var mtu = ATT.defaultMTU
  var bearers = Bearers()

  init(peer: LinkID, users: [OwnerID], maximumMTU: Int) { (self.peer, self.users) = (peer, users) }

  var isUnused: Bool { true }
  var isCongested: Bool { false }
  var deadline: Instant? { nil }
  var reconnection: Reconnection { .none }
  var attributeCache: AttributeCache? { nil }
  var hasDiscardedCache: Bool { false }

  func startCaching(_ stored: AttributeCache?) {}
  func discardCache() {}
  func forgetBond() {}
  mutating func setMTU(_ mtu: Int) { self.mtu = mtu }
  mutating func addUser(_ owner: OwnerID) { if !users.contains(owner) { users.append(owner) } }
  mutating func removeUser(_ owner: OwnerID, now: Instant, into output: inout Output) -> Bool {
    guard let place = users.firstIndex(of: owner) else { return false }
    users.remove(at: place)
    return true
  }
  func start(encryptedUntil until: Instant?, now: Instant, into output: inout Output) {}
  func startBare() {}
  func awaitEncryption(until: Instant, now: Instant, into output: inout Output) {}

  func perform(
    _ operation: GATTClient.Operation, for owner: OwnerID, pairsOnDemand: Bool, queuesAfterBondLoss: Bool, now: Instant,
    into output: inout Output
  ) {
    let refusal = GATTClient.Event.finished(operation.id, .failure(.invalidParameters("this host has no client")))
    output.effects.append(.event(.client(peer, refusal), to: owner.recipient))
  }
  func receive(_ pdu: Span<UInt8>, now: Instant, into output: inout Output) {
    guard !pdu.isEmpty, ATTOpcode(rawValue: pdu[0]) == .handleValueIndication else { return }
    output.gatt.pdus.append { $0.append(ATTOpcode.handleValueConfirmation.rawValue) }
  }
  func receive(_ pdu: Span<UInt8>, on channel: ChannelID, now: Instant, into output: inout Output) {}
  func bearerClosed(_ channel: ChannelID, now: Instant, into output: inout Output) {}
  func tick(now: Instant, into output: inout Output) {}
  func translate(now: Instant, into output: inout Output) {}
  func setCongested(_ isCongested: Bool, now: Instant, into output: inout Output) {}
  func resume(now: Instant, into output: inout Output) {}
  func bondLost(queuesOperations: Bool, now: Instant, into output: inout Output) {}
  func linkEnded(into output: inout Output) {}
  func park(_ operation: GATTClient.Operation, _ refusal: GATTClient.Event) {}
  func refuse(_ refusal: GATTClient.Event, now: Instant, into output: inout Output) {}
  func releaseParked(now: Instant, into output: inout Output) {}
}
