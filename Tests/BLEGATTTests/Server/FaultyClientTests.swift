import BLEATT
import BLEWire
import Testing

@testable import BLEGATT

/// A client that errs, generated: a sound session, with one fault in one of its PDUs. What is wrong gets one answer, as
/// a request, or none, as a command; and what the fault does not touch goes on as without it.
@Suite("A GATT server and a client with one fault") struct FaultyClientTests {
  @Test func aFaultIsAnsweredOnceAndTouchesNothingElse() throws {
    var combinations = 0
    let sound = try Self.session()
    let answers = try Self.run(sound, fault: nil).answers
    #expect(answers.allSatisfy { $0.count == 1 && $0[0][0] != 0x01 }, "a sound session: \(answers)")
    let reads = try Self.run(sound, fault: nil).values
    for index in sound.indices {
      for fault in ClientFault.all(for: sound[index]) {
        let place = "\(fault) in PDU \(index), \(sound[index].octets.hexadecimal)"
        let faulty = try Self.run(sound, fault: (index, fault))
        Self.check(faulty.answers[index], to: fault.pdus(for: sound[index]), place)
        let written = fault.pdus(for: sound[index]).compactMap(Self.writtenHandle)
        for (handle, value) in reads where !written.contains(handle) {
          #expect(faulty.values[handle] == value, "\(place): the value of \(handle)")
        }
        // The next requests are answered, and where the fault changes nothing that they see, as without it.
        for next in sound.indices where next > index {
          #expect(faulty.answers[next].count == 1, "\(place): the answers to PDU \(next)")
          let isQueueTouched = fault.pdus(for: sound[index]).contains { [0x16, 0x18].contains($0.first) }
          let isTouched =
            sound[next].sees.contains(where: written.contains) || (isQueueTouched && sound[next].isOfQueue)
          if !isTouched, faulty.mtu == 64 {
            #expect(faulty.answers[next] == answers[next], "\(place): the answer to PDU \(next)")
          }
        }
        #expect(!faulty.hasFailed, "\(place)")
        combinations += 1
      }
    }
    #expect(combinations > 1_000, "combinations")
  }

  /// The handle that a PDU may have written.
  private static func writtenHandle(_ pdu: [UInt8]) -> AttributeHandle? {
    guard [0x12, 0x52, 0x16].contains(pdu.first), pdu.count >= 3 else { return nil }
    return AttributeHandle(UInt16(pdu[1]) | UInt16(pdu[2]) << 8)
  }

  /// One answer for each request that is not whole, unknown or refused; none for commands and for what a server sends.
  private static func check(_ answers: [[UInt8]], to pdus: [[UInt8]], _ place: String) {
    let requests = pdus.filter { !$0.isEmpty && $0[0] & 0x40 == 0 && $0[0] != 0x1E && !fromServers.contains($0[0]) }
    #expect(answers.count == requests.count, "\(place): \(answers.map(\.hexadecimal))")
    for (request, answer) in zip(requests, answers) {
      let isError = answer.count == 5 && answer[0] == 0x01 && answer[1] == request[0] && answer[4] != 0
      #expect(isError || answer[0] == request[0] + 1, "\(place): \(answer.hexadecimal)")
    }
  }

  /// What only a server sends: a client's is not answered (Vol 3, Part F, 3.4.9).
  private static let fromServers: Set<UInt8> = [
    0x01, 0x03, 0x05, 0x07, 0x09, 0x0B, 0x0D, 0x0F, 0x11, 0x13, 0x17, 0x19, 0x1B, 0x1D, 0x21, 0x23,
  ]

  private struct Outcome {
    var answers: [[[UInt8]]] = []
    /// What a sound client reads afterwards.
    var values: [AttributeHandle: [[UInt8]]] = [:]
    var mtu = 0
    var hasFailed = false
  }

  private static func run(_ session: [ClientPDU], fault: (index: Int, fault: ClientFault)?) throws -> Outcome {
    var (server, outcome) = (try TestServer(), Outcome())
    for (index, pdu) in session.enumerated() {
      let pdus = fault.map { $0.index == index ? $0.fault.pdus(for: pdu) : [pdu.octets] } ?? [pdu.octets]
      var answers: [[UInt8]] = []
      // All of them, before the application answers.
      for octets in pdus { answers += server.send(octets) }
      while let token = server.takeEvents().compactMap(\.token).first {
        answers += server.respond(token, .value([9, 9])) ?? server.respond(token, .success) ?? []
      }
      outcome.answers.append(answers)
    }
    outcome.mtu = server.bearer.mtu
    _ = server.send([0x18, 0x00])
    for id: AttributeID in [.short, .both, .fourOctets, .long] {
      // As much as a response has with the least MTU.
      outcome.values[server.handle(id)] = server.send([0x0A] + server.handle(id).encoded).map { Array($0.prefix(23)) }
    }
    outcome.hasFailed = server.bearer.hasFailed
    return outcome
  }

  /// Each request of the protocol, and the command.
  private static func session() throws -> [ClientPDU] {
    let server = try TestServer()
    let short = server.handle(.short)
    let (long, four, dynamic) = (server.handle(.long), server.handle(.fourOctets), server.handle(.dynamic))
    let all: [UInt8] = [0x01, 0x00, 0xFF, 0xFF]
    return [
      ClientPDU([0x02, 0x40, 0x00]),
      ClientPDU([0x10] + all + [0x00, 0x28], handles: [1, 3]),
      ClientPDU([0x06] + all + [0x00, 0x28, 0x01, 0x18], handles: [1, 3]),
      ClientPDU([0x08] + all + [0x03, 0x28], handles: [1, 3]),
      ClientPDU([0x04] + all, handles: [1, 3]),
      ClientPDU([0x0A] + short.encoded, handles: [1], sees: [short]),
      ClientPDU([0x0A] + dynamic.encoded, handles: [1]),
      ClientPDU([0x0C] + long.encoded + [0x08, 0x00], handles: [1], sees: [long]),
      ClientPDU([0x0E] + four.encoded + long.encoded, handles: [1, 3], sees: [four, long]),
      ClientPDU([0x20] + four.encoded + long.encoded, handles: [1, 3], sees: [four, long]),
      ClientPDU([0x12] + server.handle(.writeOnly).encoded + [1, 2, 3], handles: [1]),
      ClientPDU([0x12] + server.descriptor(.both).encoded + [1, 0], handles: [1]),
      ClientPDU([0x16] + server.handle(.writeOnly).encoded + [0, 0, 7, 8], handles: [1], isOfQueue: true),
      ClientPDU([0x18, 0x01], isOfQueue: true),
      ClientPDU([0x0A] + four.encoded, handles: [1], sees: [four]),
    ]
  }
}

/// A PDU of a sound session.
private struct ClientPDU {
  var octets: [UInt8]
  /// The places of its handles.
  var handles: [Int]
  /// The values that the answer has.
  var sees: [AttributeHandle]
  var isOfQueue: Bool

  init(_ octets: [UInt8], handles: [Int] = [], sees: [AttributeHandle] = [], isOfQueue: Bool = false) {
    (self.octets, self.handles, self.sees, self.isOfQueue) = (octets, handles, sees, isOfQueue)
  }
}

/// One fault of a PDU.
private enum ClientFault: CustomStringConvertible {
  case octets([UInt8], String)
  /// Another PDU is sent before the answer, or after it.
  case before([UInt8]), after([UInt8])

  var description: String {
    switch self {
    case .octets(let octets, let name): "\(name) (\(octets.hexadecimal))"
    case .before(let octets): "\(octets.hexadecimal) before it"
    case .after(let octets): "\(octets.hexadecimal) before its answer"
    }
  }

  func pdus(for pdu: ClientPDU) -> [[UInt8]] {
    switch self {
    case .octets(let octets, _): [octets]
    case .before(let octets): [octets, pdu.octets]
    case .after(let octets): [pdu.octets, octets]
    }
  }

  static func all(for pdu: ClientPDU) -> [Self] {
    let octets = pdu.octets
    var faults: [Self] = [
      .octets(octets.dropLast(), "shorter"), .octets(Array(octets.prefix(max(1, octets.count / 2))), "half"),
      .octets([octets[0]], "the opcode alone"), .octets([], "empty"), .octets(octets + [0], "longer"),
      .octets(octets + [1, 2, 3], "longer by three"), .octets(octets + [UInt8](repeating: 5, count: 600), "too long"),
      .after(octets),
    ]
    // Each opcode that a request, a command or a server may have, and some that nobody has.
    for opcode in UInt8(0x01)...0x23 where opcode != octets[0] {
      faults.append(.octets([opcode] + octets.dropFirst(), "another opcode"))
    }
    for opcode: UInt8 in [0x00, 0x3F, 0x52, 0x7F, 0x92, 0xBF, 0xD2, 0xFF] {
      faults.append(.octets([opcode] + octets.dropFirst(), "another opcode"))
    }
    for place in pdu.handles {
      for handle in [0, 1, 0xFFFF, 0x7000, 2] as [UInt16] {
        var changed = octets
        (changed[place], changed[place + 1]) = (UInt8(handle & 0xFF), UInt8(handle >> 8))
        if changed != octets { faults.append(.octets(changed, "handle \(handle) at octet \(place)")) }
      }
    }
    // A confirmation of nothing, a response of a server, a command that is unknown, and requests that overlap.
    for other: [UInt8] in [[0x1E], [0x0B, 1], [0x1D, 1, 0, 1], [0x5F, 1], [0x0A, 0x03, 0x00], [0x18, 0x00]] {
      faults += [.before(other), .after(other)]
    }
    return faults
  }
}
