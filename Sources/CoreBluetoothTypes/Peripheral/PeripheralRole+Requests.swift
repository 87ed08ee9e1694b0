import BLEATT
import BLEAdapter
import BLEGATT
import BLEHost
import BLEWire
import Foundation
import Synchronization

/// Requests of centrals, from the host to the delegate and back.
///
/// ```
///   serveRead, serveWrite ─► delegate ─► respond ─► succeed ─► host      nothing is in line, and the answer is success
///   read, write, command ─► PeripheralManagerCall, in line ─► delegate ─► respond ─► PeripheralEffects ─► host
/// ```
extension CBPeripheralManager {
  /// Calls the delegate for a request at once, unless a call is pending before it.
  ///
  /// - Returns: false for other events, too.
  final func serveRequest(_ event: HostEvent) -> Bool {
    switch event {
    case .read(let peer, let token, let attribute, let offset): serveRead(peer, token, attribute, offset: offset)
    case .write(let peer, let token, let parts): serveWrite { $0.writeRequests(peer, token, parts) }
    case .command(let peer, let attribute, let value): serveWrite { $0.commandRequests(peer, attribute, value) }
    default: false
    }
  }

  /// Sends the application's first answer.
  final func answer(_ request: CBATTRequest, _ result: CBATTError.Code) {
    // A Write Command needs no answer, but every application gives one.
    guard let token = request.token else { return }
    if result == .success, succeed(request, token) { return }
    run { $0.respond(to: request, token, result, into: &$1) }
  }

  /// Calls the delegate for a read at once, unless a call is pending before it.
  ///
  /// - Returns: whether it was called.
  private func serveRead(_ peer: LinkID, _ token: RequestToken, _ attribute: AttributeID, offset: Int) -> Bool {
    let request = machine.withLock { hasCalls ? nil : $0.readRequest(peer, token, attribute, offset: offset) }
    guard let request else { return false }
    make(.didReceiveRead(request))
    return true
  }

  /// Calls the delegate for a write, as ``serveRead(_:_:_:offset:)`` does for a read.
  @inline(__always)
  private func serveWrite(_ begin: (inout PeripheralRole) -> [CBATTRequest]) -> Bool {
    let requests = machine.withLock { hasCalls ? [] : begin(&$0) }
    guard !requests.isEmpty else { return false }
    make(.didReceiveWrite(requests))
    return true
  }

  /// Answers a request with success, the usual case.
  ///
  /// - Returns: false where there is something to log.
  private func succeed(_ request: CBATTRequest, _ token: RequestToken) -> Bool {
    if case .write(_, _, isFirst: false) = request.ticket { return false }
    let key = request.key(token)
    return client.commands.batch { batch in
      machine.withLock { role in
        guard role.links.contains(key.peer), let waiting = role.pending.remove(key) else { return false }
        let answer = HostCommand.respond(key.peer, token, .success([]))
        // Under the lock, so that commands are sent in the order of the changes.
        if waiting.isRead { request.withOctets { _ = batch.append(answer, octets: $0) } } else { batch.append(answer) }
        return true
      }
    }
  }
}

/// Requests of centrals.
extension PeripheralRole {
  mutating func read(
    _ peer: LinkID, _ token: RequestToken, _ attribute: AttributeID, offset: Int, into effects: inout PeripheralEffects
  ) {
    guard let request = readRequest(peer, token, attribute, offset: offset) else {
      return refuseRetired([attribute], peer, token, into: &effects)
    }
    effects.calls.append(.didReceiveRead(request))
  }

  /// Begins a read: it waits for the answer of the application.
  ///
  /// - Returns: nil where there is no such link or characteristic.
  mutating func readRequest(
    _ peer: LinkID, _ token: RequestToken, _ attribute: AttributeID, offset: Int
  ) -> CBATTRequest? {
    guard let central = links.lend(peer, { $0.central }), let characteristic = characteristic(attribute) else {
      return nil
    }
    pending.append(PendingRequest(key: RequestKey(peer: peer, token: token), isRead: true, attribute: attribute))
    return CBATTRequest(
      central: central, characteristic: characteristic, offset: offset, octets: nil, ticket: .read(token))
  }

  mutating func write(
    _ peer: LinkID, _ token: RequestToken?, _ parts: [WritePart], into effects: inout PeripheralEffects
  ) {
    guard links.contains(peer) else { return }
    let requests = writeRequests(peer, token, parts)
    guard !requests.isEmpty else {
      if let token { refuseRetired(parts.map(\.attribute), peer, token, into: &effects) }
      return
    }
    effects.calls.append(.didReceiveWrite(requests))
  }

  /// Begins a write: it waits for the answer of the application, unless it is a Write Command.
  ///
  /// - Returns: the parts whose characteristics exist; empty if there are none or the link does not exist.
  mutating func writeRequests(_ peer: LinkID, _ token: RequestToken?, _ parts: [WritePart]) -> [CBATTRequest] {
    guard let central = links.lend(peer, { $0.central }) else { return [] }
    var requests: [CBATTRequest] = []
    for part in parts {
      guard let characteristic = characteristic(part.attribute) else { continue }
      let ticket: CBATTRequest.Ticket =
        token.map { .write($0, part: part.attribute, isFirst: requests.isEmpty) } ?? .command
      requests.append(
        CBATTRequest(
          central: central, characteristic: characteristic, offset: part.offset, octets: part.value,
          ticket: ticket))
    }
    if let token, !requests.isEmpty {
      let key = RequestKey(peer: peer, token: token)
      pending.append(
        PendingRequest(
          key: key, isRead: false, attribute: parts.first?.attribute, others: parts.dropFirst().map(\.attribute)))
    }
    return requests
  }

  mutating func command(
    _ peer: LinkID, _ attribute: AttributeID, _ value: [UInt8], into effects: inout PeripheralEffects
  ) {
    let requests = commandRequests(peer, attribute, value)
    if !requests.isEmpty { effects.calls.append(.didReceiveWrite(requests)) }
  }

  /// The request of a Write Command, which waits for no answer; empty where there is no such link or characteristic.
  ///
  /// It is mutating so that it is called in place: a call of another function would copy the role.
  mutating func commandRequests(_ peer: LinkID, _ attribute: AttributeID, _ value: [UInt8]) -> [CBATTRequest] {
    guard let central = links.lend(peer, { $0.central }), let characteristic = characteristic(attribute) else {
      return []
    }
    return [CBATTRequest(central: central, characteristic: characteristic, offset: 0, octets: value, ticket: .command)]
  }

  /// Casts an object, because casting an optional takes several times as long.
  @inline(__always)
  private func characteristic(_ attribute: AttributeID) -> CBCharacteristic? {
    guard let object = attributes[attribute] else { return nil }
    return object as? CBCharacteristic
  }

  /// A request for a service that was just removed here.
  private func refuseRetired(
    _ attributes: [AttributeID], _ peer: LinkID, _ token: RequestToken, into effects: inout PeripheralEffects
  ) {
    guard retiring.values.contains(where: { !$0.isDisjoint(with: attributes) }) else { return }
    effects.commands.append(.respond(peer, token, .failure(.unlikelyError)))
  }

  /// The application's answer; the first one counts.
  mutating func respond(
    to request: CBATTRequest, _ token: RequestToken, _ result: CBATTError.Code, into effects: inout PeripheralEffects
  ) {
    let key = request.key(token)
    guard let waiting = pending.first(key), links[key.peer] != nil else {
      effects.misuses.append(
        "respond: the request of \(request.central) for \(request.characteristic) does not wait for an answer: it was answered before, took longer than 30 seconds, or its link or service is gone"
      )
      return
    }
    if case .write(_, _, isFirst: false) = request.ticket, result == .success {
      effects.misuses.append(
        "respond: several writes that belong together are answered with success through the first of them")
    }
    pending.remove(key)
    effects.commands.append(.respond(key.peer, token, answer(to: request, waiting, result, into: &effects)))
  }

  private func answer(
    to request: CBATTRequest, _ waiting: PendingRequest, _ result: CBATTError.Code,
    into effects: inout PeripheralEffects
  ) -> RequestAnswer {
    guard result != .success else {
      if waiting.isRead { effects.value = request.value }
      return .success([])
    }
    guard let code = UInt8(exactly: result.rawValue) else {
      effects.misuses.append(
        "respond: \(result.rawValue) is not an ATT error code, which has one octet: the central gets Unlikely Error (0x0E)"
      )
      return .failure(.unlikelyError)
    }
    guard case .write(_, let part, _) = request.ticket else { return .failure(ATTErrorCode(rawValue: code)) }
    return .failure(ATTErrorCode(rawValue: code), attribute: part)
  }

  mutating func requestTimedOut(_ peer: LinkID, _ token: RequestToken, into effects: inout PeripheralEffects) {
    guard let request = pending.remove(RequestKey(peer: peer, token: token)) else { return }
    let attribute = request.attribute.flatMap { attributes[$0] }
    effects.misuses.append(
      "a \(request.isRead ? "read" : "write") of \(attribute.map { "\($0)" } ?? "an attribute") was not answered in time, and the central got Unlikely Error (0x0E): call respond(to:withResult:) exactly once for each delegate call"
    )
  }
}

/// Identifies a request of the host: the token belongs to the link.
struct RequestKey: Equatable, Sendable {
  var peer: LinkID
  var token: RequestToken
}

/// A request that the application has not answered.
struct PendingRequest: Sendable {
  var key: RequestKey
  var isRead: Bool
  /// The attribute that it is about; the first part's, where there are several.
  var attribute: AttributeID?
  /// Those of the other parts of a queued write.
  var others: [AttributeID] = []

  /// Whether it is about one of these attributes.
  func concerns(_ attributes: Set<AttributeID>) -> Bool {
    attribute.map { attributes.contains($0) } ?? false || !attributes.isDisjoint(with: others)
  }
}

/// The requests that the application has not answered. A bearer has one at most (Vol 3, Part F, 3.3.2), so there are
/// few, and a search takes less time than a hash.
struct PendingRequests: Sendable {
  private var requests: [PendingRequest] = []

  mutating func append(_ request: PendingRequest) { requests.append(request) }

  func first(_ key: RequestKey) -> PendingRequest? { index(of: key).map { requests[$0] } }

  @discardableResult
  mutating func remove(_ key: RequestKey) -> PendingRequest? {
    guard let index = index(of: key) else { return nil }
    // Usually it is the newest one, and no others are moved.
    return index == requests.count - 1 ? requests.removeLast() : requests.remove(at: index)
  }

  /// Copies no element.
  private func index(of key: RequestKey) -> Int? {
    for index in requests.indices where requests[index].key == key { return index }
    return nil
  }

  /// - Returns: those that are removed, in the order in which they came.
  @discardableResult
  mutating func removeAll(where isRemoved: (PendingRequest) -> Bool) -> [PendingRequest] {
    let removed = requests.filter(isRemoved)
    requests.removeAll(where: isRemoved)
    return removed
  }

  mutating func removeAll() { requests.removeAll(keepingCapacity: true) }
}
