import BLEGATT
import BLEHCI
import BLEHost
import BLEWire
import Synchronization

/// What a peripheral manager has published, advertises, is connected to and waits for.
///
/// A machine like those below it: it calls nobody. The manager holds it under its lock, hands it the application's calls
/// and the host's events, and performs the effects: commands at once, delegate calls on the queue.
struct PeripheralState: Sendable {
  let limits: PeripheralLimits

  // The database (PeripheralState+Services).
  var published: [ServiceID: Publication] = [:]
  var serviceIDs: [ObjectIdentifier: ServiceID] = [:]
  var attributes: [AttributeID: Attribute] = [:]
  var attributeIDs: [ObjectIdentifier: AttributeID] = [:]
  /// Attributes of services that were removed here and not yet by the host: requests for them still arrive.
  var retiring: [ServiceID: Set<AttributeID>] = [:]
  var adds = OrderedAnswers<ServiceID, MutableService>()

  // Links (PeripheralState+Links).
  var links: [PeerID: Link] = [:]

  // Requests (PeripheralState+Requests).
  var pending: [RequestKey: PendingRequest] = [:]

  // Updates (PeripheralState+Updates).
  var updates: Set<UpdateToken> = []
  var owesReady = false
  var waiters: [Waiter] = []

  // Advertising (PeripheralState+Advertising).
  var starts = OrderedAnswers<AdvertisingID, Void>()
  var advertising = Advertising.off

  init(limits: PeripheralLimits = PeripheralLimits()) { self.limits = limits }

  struct Publication: Sendable {
    var service: MutableService
    var attributes: [AttributeID]
  }

  struct Link: Sendable {
    var central: Central
    /// The other side made the connection: its coming and going is the application's to hear of.
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
  /// ``PeripheralManager/updateValue(_:for:onSubscribedCentrals:)`` returns false.
  var pendingUpdates = 32
  /// Tasks that may wait for room in ``PeripheralManager/send(_:for:to:)``; one more is refused with `outOfSpace`.
  var waitingSends = 256
  /// Connection events that one stream keeps for a reader that does not read; the oldest is dropped then.
  var connectionEvents = 256
}

/// What the machine wants done, each kind in order.
struct PeripheralEffects: Sendable {
  var commands: [HostCommand] = []
  var calls: [DelegateCall] = []
  /// Lines for the log about calls without effect.
  var misuses: [String] = []
}

/// Numbers for the host's names, unique in the process: several managers share one host.
enum HostNames {
  private static let last = Atomic<UInt64>(0)
  private static func next() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }
  /// The two or one highest numbers are the stack's own; 2³¹ names are enough for a process.
  static func next32() -> UInt32 { UInt32(truncatingIfNeeded: next() & 0x7FFF_FFFF) }

  static func service() -> ServiceID { ServiceID(rawValue: next32()) }
  static func attribute() -> AttributeID { AttributeID(rawValue: next32()) }
  static func advertising() -> AdvertisingID { AdvertisingID(rawValue: next32()) }
  static func update() -> UpdateToken { UpdateToken(rawValue: next()) }
}

/// Answers that must come in the order of the questions, whoever gives them: the host, or the manager at once.
struct OrderedAnswers<ID: Hashable & Sendable, Subject: Sendable>: Sendable {
  struct Entry: Sendable {
    var id: ID
    var subject: Subject
    var answer: Answer?
  }
  enum Answer: Sendable {
    case success
    case failure(BluetoothError)
  }

  private(set) var entries: [Entry] = []

  func contains(_ id: ID) -> Bool { entries.contains { $0.id == id && $0.answer == nil } }

  mutating func ask(_ id: ID, _ subject: Subject, answer: Answer? = nil) {
    entries.append(Entry(id: id, subject: subject, answer: answer))
  }

  mutating func answer(_ id: ID, _ answer: Answer) {
    guard let index = entries.firstIndex(where: { $0.id == id && $0.answer == nil }) else { return }
    entries[index].answer = answer
  }

  /// Answers all that are open.
  mutating func failAll(_ error: BluetoothError) {
    for index in entries.indices where entries[index].answer == nil { entries[index].answer = .failure(error) }
  }

  /// The next one whose turn it is.
  mutating func next() -> (subject: Subject, error: BluetoothError?)? {
    guard let first = entries.first, let answer = first.answer else { return nil }
    entries.removeFirst()
    return switch answer {
    case .success: (first.subject, nil)
    case .failure(let error): (first.subject, error)
    }
  }
}
