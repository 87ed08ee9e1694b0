import BLEATT
import BLEGATT
import BLEWire

/// The owner of each service, and of the attributes in it.
struct ServiceOwners: Sendable {
  private var owners: [ServiceID: OwnerID] = [:]
  private var attributes = IdentifierTable<AttributeID, OwnerID>()
  private var contents: [ServiceID: [AttributeID]] = [:]
  /// The owners that do not want to receive what clients write to stored values.
  private var silent: Set<OwnerID> = []

  mutating func add(_ service: ServiceDefinition, of owner: OwnerID) {
    let members = service.characteristics.flatMap { [$0.id] + $0.descriptors.map { $0.id } }
    (owners[service.id], contents[service.id]) = (owner, members)
    for attribute in members { attributes[attribute] = owner }
  }

  /// Adds attributes that are removed together, as those of a service are.
  mutating func add(_ definitions: [AttributeDefinition], as service: ServiceID, of owner: OwnerID) {
    let members = definitions.compactMap { $0.id }
    (owners[service], contents[service]) = (owner, members)
    for attribute in members { attributes[attribute] = owner }
  }

  /// Any service that an owner has added.
  var anyService: ServiceID? { owners.keys.min { $0.rawValue < $1.rawValue } }

  mutating func remove(_ service: ServiceID) {
    owners[service] = nil
    for attribute in contents.removeValue(forKey: service) ?? [] { attributes[attribute] = nil }
  }

  /// Sets whether an owner receives what clients write to stored values.
  mutating func setReportsStoredWrites(_ reports: Bool, to owner: OwnerID) {
    if reports { silent.remove(owner) } else { silent.insert(owner) }
  }

  /// Whether an owner receives what clients write to stored values.
  func reportsStoredWrites(to owner: OwnerID) -> Bool { !silent.contains(owner) }
  /// Whether the owner of any service does.
  var reportsStoredWrites: Bool { silent.isEmpty || owners.values.contains { !silent.contains($0) } }

  /// The owner; nil where there is no such service.
  func owner(of service: ServiceID) -> OwnerID? { owners[service] }
  /// The owner; nil where no owner declared the attribute.
  func owner(of attribute: AttributeID) -> OwnerID? { attributes[attribute] }

  func services(of owner: OwnerID) -> [ServiceID] {
    owners.filter { $0.value == owner }.keys.sorted { $0.rawValue < $1.rawValue }
  }

  /// The parts of a write, by the owners of their attributes, in the order of the parts.
  func shares(of parts: [WritePart]) -> [(owner: OwnerID, parts: [WritePart])] {
    var shares: [(owner: OwnerID, parts: [WritePart])] = []
    for part in parts {
      let owner = owner(of: part.attribute) ?? .process
      if let index = shares.firstIndex(where: { $0.owner == owner }) {
        shares[index].parts.append(part)
      } else {
        shares.append((owner, [part]))
      }
    }
    return shares
  }
}

/// The answer of one owner to a request of a client.
struct OwnerAnswer: Equatable, Sendable {
  let owner: OwnerID
  let answer: RequestAnswer
  let token: RequestToken

  init(_ owner: OwnerID, _ answer: RequestAnswer, to token: RequestToken) {
    (self.owner, self.answer, self.token) = (owner, answer, token)
  }
}

/// A request of a client that waits for the answers of the owners of its attributes: one, or several for a queued write
/// whose parts belong to several owners.
struct PendingAnswer: Equatable, Sendable {
  enum Outcome: Equatable, Sendable {
    /// The request is not open, or this owner has answered it or was not asked.
    case unknown
    /// Other owners have not answered.
    case incomplete
    /// All have answered: the first rejection, else the last answer.
    case complete(RequestAnswer)
  }

  let token: RequestToken
  /// The owner that answers a request alone, which needs no array.
  private var only: OwnerID?
  private var several: [OwnerID] = []
  private var rejection: RequestAnswer?

  init(token: RequestToken, owners: [OwnerID]) {
    self.token = token
    several = owners
  }

  init(token: RequestToken, owner: OwnerID) { (self.token, only) = (token, owner) }

  /// The owners that have not answered.
  var owners: [OwnerID] { only.map { [$0] } ?? several }

  func awaits(_ owner: OwnerID) -> Bool { only == owner || several.contains(owner) }

  mutating func take(_ answer: OwnerAnswer) -> Outcome {
    guard answer.token == token else { return .unknown }
    if only == answer.owner {
      only = nil
      return .complete(answer.answer)
    }
    guard let index = several.firstIndex(of: answer.owner) else { return .unknown }
    several.remove(at: index)
    if case .failure = answer.answer { rejection = rejection ?? answer.answer }
    return several.isEmpty ? .complete(rejection ?? answer.answer) : .incomplete
  }
}
