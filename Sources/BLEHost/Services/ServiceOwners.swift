import BLEATT
import BLEGATT
import BLEWire

/// The owner of each service, and of the attributes in it.
struct ServiceOwners: Sendable {
  private struct Service {
    let id: ServiceID
    let owner: OwnerID
    let attributes: [AttributeID]
  }

  /// In the order of their identifiers.
  private var services: [Service] = []
  private var attributes = IdentifierTable<AttributeID, OwnerID>()
  /// The owners that do not want to receive what clients write to stored values.
  private var silent: [OwnerID] = []

  mutating func add(_ service: ServiceDefinition, of owner: OwnerID) {
    add(service.characteristics.flatMap { [$0.id] + $0.descriptors.map { $0.id } }, as: service.id, of: owner)
  }

  /// Adds attributes that are removed together, as those of a service are.
  mutating func add(_ definitions: [AttributeDefinition], as service: ServiceID, of owner: OwnerID) {
    add(definitions.compactMap { $0.id }, as: service, of: owner)
  }

  private mutating func add(_ members: [AttributeID], as service: ServiceID, of owner: OwnerID) {
    services.removeAll { $0.id == service }
    let place = services.firstIndex { $0.id.rawValue > service.rawValue } ?? services.endIndex
    services.insert(Service(id: service, owner: owner, attributes: members), at: place)
    for attribute in members { attributes[attribute] = owner }
  }

  /// Any service that an owner has added.
  var anyService: ServiceID? { services.first?.id }

  mutating func remove(_ service: ServiceID) {
    guard let place = services.firstIndex(where: { $0.id == service }) else { return }
    for attribute in services.remove(at: place).attributes { attributes[attribute] = nil }
  }

  /// Sets whether an owner receives what clients write to stored values.
  mutating func setReportsStoredWrites(_ reports: Bool, to owner: OwnerID) {
    silent.removeAll { $0 == owner }
    if !reports { silent.append(owner) }
  }

  /// Whether an owner receives what clients write to stored values.
  func reportsStoredWrites(to owner: OwnerID) -> Bool { !silent.contains(owner) }
  /// Whether the owner of any service does.
  var reportsStoredWrites: Bool { silent.isEmpty || services.contains { !silent.contains($0.owner) } }

  /// The owner; nil where there is no such service.
  func owner(of service: ServiceID) -> OwnerID? { services.first { $0.id == service }?.owner }
  /// The owner; nil where no owner declared the attribute.
  func owner(of attribute: AttributeID) -> OwnerID? { attributes[attribute] }

  func services(of owner: OwnerID) -> [ServiceID] {
    services.filter { $0.owner == owner }.map { $0.id }
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
