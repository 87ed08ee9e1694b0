import BLEGATT
import BLEHCI
import BLEHost
import BLEWire

/// What a peripheral manager has published, advertises, is connected to and waits for.
///
/// A machine like those below it: it calls nobody. The manager holds it under its lock, hands it the application's calls
/// and the host's events, and performs the effects: commands at once, delegate calls on the queue.
struct PeripheralRole: Sendable {
  let limits: PeripheralLimits

  // The database (PeripheralRole+Services).
  var published: [ServiceID: Publication] = [:]
  var serviceIDs: [ObjectIdentifier: ServiceID] = [:]
  var attributes: [AttributeID: CBAttribute] = [:]
  var attributeIDs: [ObjectIdentifier: AttributeID] = [:]
  /// Attributes of services that were removed here and not yet by the host: requests for them still arrive.
  var retiring: [ServiceID: Set<AttributeID>] = [:]
  var adds = OrderedAnswers<ServiceID, CBMutableService>()

  // Links (PeripheralRole+Links).
  var links: [PeerID: Link] = [:]

  // Requests (PeripheralRole+Requests).
  var pending: [RequestKey: PendingRequest] = [:]

  // Updates (PeripheralRole+Updates).
  var updates: Set<UpdateToken> = []
  var owesReady = false

  // Advertising (PeripheralRole+Advertising).
  var starts = OrderedAnswers<AdvertisingID, Void>()
  var advertising = Advertising.off

  init(limits: PeripheralLimits = PeripheralLimits()) { self.limits = limits }

  struct Publication: Sendable {
    var service: CBMutableService
    var attributes: [AttributeID]
  }

  struct Link: Sendable {
    var central: CBCentral
    /// Whether the other side made the connection: only then it is reported to the application.
    var isCentral: Bool
    /// The characteristics it is subscribed to, in the order in which it did.
    var subscriptions: [AttributeID] = []
  }

  enum Advertising: Equatable, Sendable {
    case off
    case starting(AdvertisingID)
    case on(AdvertisingID)
  }
}

/// The bounds of what one peripheral manager keeps.
struct PeripheralLimits: Sendable {
  /// Values that may be on their way to subscribers; one more and
  /// ``CBPeripheralManager/updateValue(_:for:onSubscribedCentrals:)`` returns false.
  var pendingUpdates = 32
}

/// What the machine wants done, each kind in order.
struct PeripheralEffects: Sendable {
  var commands: [HostCommand] = []
  var calls: [DelegateCall] = []
  /// Lines for the log about calls without effect.
  var misuses: [String] = []
  /// Lines for the log about calls that took effect, and may have another one than was meant.
  var warnings: [String] = []
}
