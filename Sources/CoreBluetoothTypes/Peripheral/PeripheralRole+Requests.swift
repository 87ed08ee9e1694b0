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
///   read, write, command ─► PeripheralManagerCall, in line ─► delegate ─► respond ─► PeripheralEffects ─► host
/// ```
extension PeripheralRole {
  /// Begins a read: it waits for the answer of the application.
  mutating func read(
    _ peer: LinkID, _ token: RequestToken, _ attribute: AttributeID, offset: Int, into effects: inout PeripheralEffects
  ) {
    guard let central = links.lend(peer, { $0.central }), let characteristic = characteristic(attribute) else {
      return refuseRetired([attribute], peer, token, into: &effects)
    }
    pending.append(PendingRequest(key: RequestKey(peer: peer, token: token), isRead: true, attribute: attribute))
    let request = CBATTRequest(
      central: central, characteristic: characteristic, offset: offset, octets: nil, ticket: .read(token))
    effects.calls.append(.didReceiveRead(request))
  }

  /// Begins a write: it waits for the answer of the application. Parts whose characteristics are gone are left out.
  mutating func write(
    _ peer: LinkID, _ token: RequestToken, _ parts: [WritePart], into effects: inout PeripheralEffects
  ) {
    guard let central = links.lend(peer, { $0.central }) else { return }
    var requests: [CBATTRequest] = []
    for part in parts {
      guard let characteristic = characteristic(part.attribute) else { continue }
      let ticket = CBATTRequest.Ticket.write(token, part: part.attribute, isFirst: requests.isEmpty)
      requests.append(
        CBATTRequest(
          central: central, characteristic: characteristic, offset: part.offset, octets: part.value,
          ticket: ticket))
    }
    guard !requests.isEmpty else { return refuseRetired(parts.map(\.attribute), peer, token, into: &effects) }
    let key = RequestKey(peer: peer, token: token)
    pending.append(
      PendingRequest(
        key: key, isRead: false, attribute: parts.first?.attribute, others: parts.dropFirst().map(\.attribute)))
    effects.calls.append(.didReceiveWrite(requests))
  }

  /// A Write Command waits for no answer.
  mutating func command(
    _ peer: LinkID, _ attribute: AttributeID, _ value: [UInt8], into effects: inout PeripheralEffects
  ) {
    guard let central = links.lend(peer, { $0.central }), let characteristic = characteristic(attribute) else { return }
    let request = CBATTRequest(
      central: central, characteristic: characteristic, offset: 0, octets: value, ticket: .command)
    effects.calls.append(.didReceiveWrite([request]))
  }

  /// The object is cast, not the optional (Docs/Decisions/performance.md#in-place).
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
      if waiting.isRead { effects.answered = request }
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
    // Usually it is the newest one.
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
