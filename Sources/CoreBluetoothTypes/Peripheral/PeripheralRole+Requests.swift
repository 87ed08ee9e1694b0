import BLEATT
import BLEGATT
import BLEHost
import BLEWire
import Foundation

/// One request of the host's: the token is the link's own.
struct RequestKey: Hashable, Sendable {
  var peer: PeerID
  var token: RequestToken
}

/// A request that the application has not answered.
struct PendingRequest: Sendable {
  var isRead: Bool
  /// The attributes it is about, the first part's first.
  var attributes: [AttributeID]
}

extension PeripheralRole {
  mutating func read(
    _ peer: PeerID, _ token: RequestToken, _ attribute: AttributeID, offset: Int, into effects: inout PeripheralEffects
  ) {
    guard let central = links[peer]?.central, let characteristic = attributes[attribute] as? CBCharacteristic else {
      refuseRetired([attribute], peer, token, into: &effects)
      return
    }
    pending[RequestKey(peer: peer, token: token)] = PendingRequest(isRead: true, attributes: [attribute])
    effects.calls.append(
      .didReceiveRead(
        CBATTRequest(
          central: central, characteristic: characteristic, offset: offset, value: nil, ticket: .read(token))))
  }

  mutating func write(
    _ peer: PeerID, _ token: RequestToken?, _ parts: [WritePart], into effects: inout PeripheralEffects
  ) {
    guard let central = links[peer]?.central else { return }
    var requests: [CBATTRequest] = []
    for part in parts {
      guard let characteristic = attributes[part.attribute] as? CBCharacteristic else { continue }
      let ticket: CBATTRequest.Ticket =
        token.map { .write($0, part: part.attribute, isFirst: requests.isEmpty) } ?? .command
      requests.append(
        CBATTRequest(
          central: central, characteristic: characteristic, offset: part.offset, value: Data(part.value),
          ticket: ticket))
    }
    guard !requests.isEmpty else {
      if let token { refuseRetired(parts.map(\.attribute), peer, token, into: &effects) }
      return
    }
    if let token {
      pending[RequestKey(peer: peer, token: token)] = PendingRequest(
        isRead: false, attributes: parts.map(\.attribute))
    }
    effects.calls.append(.didReceiveWrite(requests))
  }

  /// A request for a service that was just removed here.
  private func refuseRetired(
    _ attributes: [AttributeID], _ peer: PeerID, _ token: RequestToken, into effects: inout PeripheralEffects
  ) {
    guard retiring.values.contains(where: { !$0.isDisjoint(with: attributes) }) else { return }
    effects.commands.append(.respond(peer, token, .failure(.unlikelyError)))
  }

  /// The application's answer; the first one counts.
  mutating func respond(
    to request: CBATTRequest, _ result: CBATTError.Code, into effects: inout PeripheralEffects
  ) {
    // A write command wants no answer, and every application gives one.
    guard let token = request.token else { return }
    let key = RequestKey(peer: request.central.peer, token: token)
    guard let waiting = pending[key], links[key.peer] != nil else {
      effects.misuses.append(
        "respond: the request of \(request.central) for \(request.characteristic) waits for no answer: it was answered before, took longer than 30 seconds, or its link or service is gone"
      )
      return
    }
    if case .write(_, _, isFirst: false) = request.ticket, result == .success {
      effects.misuses.append(
        "respond: several writes that belong together are answered with success through the first of them")
    }
    pending[key] = nil
    effects.commands.append(.respond(key.peer, token, answer(to: request, waiting, result, into: &effects)))
  }

  private func answer(
    to request: CBATTRequest, _ waiting: PendingRequest, _ result: CBATTError.Code,
    into effects: inout PeripheralEffects
  ) -> RequestAnswer {
    guard result != .success else { return .success(waiting.isRead ? [UInt8](request.value ?? Data()) : []) }
    guard let code = UInt8(exactly: result.rawValue) else {
      effects.misuses.append(
        "respond: \(result.rawValue) is no ATT error code, which has one octet: the central gets 0x0E")
      return .failure(.unlikelyError)
    }
    guard case .write(_, let part, _) = request.ticket else { return .failure(ATTErrorCode(rawValue: code)) }
    return .failure(ATTErrorCode(rawValue: code), attribute: part)
  }

  mutating func requestTimedOut(_ peer: PeerID, _ token: RequestToken, into effects: inout PeripheralEffects) {
    guard let request = pending.removeValue(forKey: RequestKey(peer: peer, token: token)) else { return }
    let attribute = request.attributes.first.flatMap { attributes[$0] }
    effects.misuses.append(
      "a \(request.isRead ? "read" : "write") of \(attribute.map { "\($0)" } ?? "an attribute") was not answered in time, and the central got the error 0x0E: call respond(to:withResult:) exactly once for each delegate call"
    )
  }
}
