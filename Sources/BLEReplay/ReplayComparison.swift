import BLEATT
import BLETrace
import BLEWire

/// Compares what a device sends in a replay with what the trace has.
struct ReplayComparison {
  let session: RecordedSession
  var options: ReplayOptions

  // MARK: Responses

  /// The difference between two responses to a request; nil if they are equal, but for the values that are ignored.
  func difference(
    _ request: [UInt8], _ recorded: RecordedSession.Response, _ replayed: [UInt8]
  ) -> ReplayDifference? {
    guard recorded.pdu != replayed, !isIgnored(request, recorded.pdu, replayed) else { return nil }
    let texts = distinct(
      session.text(ofResponse: recorded.pdu, to: request), session.text(ofResponse: replayed, to: request),
      recorded.pdu, replayed)
    return ReplayDifference(
      kind: .response, packet: recorded.number, name: session.text(ofRequest: request),
      attribute: (try? ATTPDU(decoding: request[...]))?.requestedAttribute, recorded: texts.0, replayed: texts.1,
      recordedOctets: recorded.pdu, replayedOctets: replayed)
  }

  /// Two texts for the octets of a difference: with the octets, if the texts say the same.
  private func distinct(_ one: String, _ other: String, _ octets: [UInt8], _ others: [UInt8]) -> (String, String) {
    guard one == other else { return (one, other) }
    let place = zip(octets, others).prefix { $0 == $1 }.count
    let text = place == 0 ? "" : "from octet \(place) on "
    return (
      "\(one) (\(text)\(ValueText.plain(octets.dropFirst(place))))",
      "\(other) (\(text)\(ValueText.plain(others.dropFirst(place))))"
    )
  }

  /// Whether two responses differ only in values that are not compared.
  private func isIgnored(_ request: [UInt8], _ recorded: [UInt8], _ replayed: [UInt8]) -> Bool {
    guard options.ignoresAny, recorded.first == replayed.first,
      let request = try? ATTPDU(decoding: request[...]), let one = try? ATTPDU(decoding: recorded[...]),
      let other = try? ATTPDU(decoding: replayed[...])
    else { return false }
    switch (one, other) {
    case (.errorResponse(let one), .errorResponse(let other)):
      // A server refuses a client that has a bond by another code (Vol 3, Part C, 10.3.1).
      let codes: Set<ATTErrorCode> = [.insufficientAuthentication, .insufficientEncryption]
      return options.ignoresBondState && one.handle == other.handle && codes.contains(one.code)
        && codes.contains(other.code)
    case (.readResponse, .readResponse), (.readBlobResponse, .readBlobResponse):
      return request.requestedAttribute.map { options.ignores($0, in: session) } ?? false
    case (.readByTypeResponse(let one), .readByTypeResponse(let other)):
      guard case .readByTypeRequest(let request) = request else { return false }
      let isIgnored = options.ignores(request.attributeType)
      let entries = zip(one.attributeDataList, other.attributeDataList)
      return one.attributeDataList.count == other.attributeDataList.count
        && entries.allSatisfy { one, other in
          one.handle == other.handle
            && (isIgnored || options.ignores(one.handle, in: session) || one.value == other.value)
        }
    case (.readMultipleResponse, .readMultipleResponse):
      guard case .readMultipleRequest(let request) = request else { return false }
      return request.setOfHandles.contains { options.ignores($0, in: session) }
    case (.readMultipleVariableResponse, .readMultipleVariableResponse):
      guard case .readMultipleVariableRequest(let request) = request else { return false }
      return request.setOfHandles.contains { options.ignores($0, in: session) }
    // No other response has the value of an attribute.
    default: return false
    }
  }

  // MARK: Values

  /// Up to so many values of an attribute are compared as two sequences, of which one lacks some; more are compared one
  /// by one.
  private static let alignedValues = 256

  /// The differences between the values of one attribute, as the trace has them and as the device sent them.
  func differences(
    of handle: AttributeHandle, _ recorded: [(number: Int, value: [UInt8])], _ replayed: [[UInt8]]
  ) -> [ReplayDifference] {
    var removed: Set<Int> = []
    var inserted: Set<Int> = []
    if max(recorded.count, replayed.count) <= Self.alignedValues {
      for change in replayed.difference(from: recorded.map(\.value)) {
        switch change {
        case .remove(let offset, _, _): removed.insert(offset)
        case .insert(let offset, _, _): inserted.insert(offset)
        }
      }
    } else {
      let common = min(recorded.count, replayed.count)
      for index in 0..<max(recorded.count, replayed.count) {
        if index < common, recorded[index].value == replayed[index] { continue }
        if index < recorded.count { removed.insert(index) }
        if index < replayed.count { inserted.insert(index) }
      }
    }
    var differences: [ReplayDifference] = []
    var (place, otherPlace) = (0, 0)
    while place < recorded.count || otherPlace < replayed.count {
      let old = removed.contains(place) ? recorded[place] : nil
      let new = inserted.contains(otherPlace) ? replayed[otherPlace] : nil
      if old != nil || new != nil { differences.append(difference(of: handle, old, new)) }
      if old != nil || new == nil { place += 1 }
      if new != nil || old == nil { otherPlace += 1 }
    }
    return differences
  }

  private func difference(
    of handle: AttributeHandle, _ recorded: (number: Int, value: [UInt8])?, _ replayed: [UInt8]?
  ) -> ReplayDifference {
    let kind: ReplayDifference.Kind = recorded == nil ? .additionalValue : replayed == nil ? .missingValue : .value
    var texts = (recorded.map { session.text($0.value, of: handle) }, replayed.map { session.text($0, of: handle) })
    if let old = recorded?.value, let replayed, let one = texts.0, let other = texts.1 {
      texts = distinct(one, other, old, replayed)
    }
    return ReplayDifference(
      kind: kind, packet: recorded?.number, name: "value sent of \(session.name(of: handle))", attribute: handle,
      recorded: texts.0, replayed: texts.1, recordedOctets: recorded?.value, replayedOctets: replayed)
  }
}
