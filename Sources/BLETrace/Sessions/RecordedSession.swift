package import BLEATT
import BLEAssignedNumbers
package import BLEHCI
package import BLEWire
import ToolCore

/// The session of a central on one link of a trace: what it sent as a client of GATT, and what the server of the
/// peripheral sent, in the order of the trace.
package struct RecordedSession: Sendable {
  /// Something that the central did, or a value that the server sent by itself.
  package struct Step: Equatable, Sendable {
    package enum Action: Equatable, Sendable {
      /// A request, and its response; nil if the trace has none.
      case request([UInt8], Response?)
      /// A Write Command, from the opcode on.
      case command([UInt8])
      /// A notification, an indication, or one value of a notification of several.
      case value(AttributeHandle, [UInt8])
      /// The link became encrypted, or got another key.
      ///
      /// - isAuthenticated: whether the pairing before it was protected against a man in the middle.
      case encryption(isAuthenticated: Bool)
    }

    /// The place of the packet in the trace (``TraceEntry/number``).
    package var number: Int
    /// Microseconds since the first packet of the trace.
    package var time: Int64
    package var action: Action
  }

  /// The response to a request.
  package struct Response: Equatable, Sendable {
    package var number: Int
    package var time: Int64
    /// The PDU, from the opcode on.
    package var pdu: [UInt8]
  }

  /// The end of the link in the trace.
  package struct End: Equatable, Sendable {
    package var number: Int
    package var time: Int64
    package var reason: HCIErrorCode
    /// Whether the peripheral ended the link.
    package var isByServer: Bool
  }

  /// Something that a replay leaves out.
  package struct Omission: Equatable, Sendable, CustomStringConvertible {
    /// The first packet of this kind, and the number of them.
    package var number: Int
    package var count = 1
    package var name: String
    package var reason: String

    package var description: String {
      let packets = count == 1 ? "packet \(number)" : "packet \(number) and \(count - 1) more"
      return "\(packets): \(name): \(reason)"
    }
  }

  /// The number by which it is chosen: the place among the links of the trace, from 1 on.
  package let number: Int
  package let link: ConnectionHandle
  /// The other device of the capture; nil if the trace begins within the link.
  package internal(set) var peer: DeviceAddress?
  package internal(set) var steps: [Step] = []
  /// The requests and the commands of the central.
  package internal(set) var clientCount = 0
  /// The first and the last packet of the link.
  package internal(set) var packets: ClosedRange<Int>
  /// Microseconds from the first packet of the trace to the first and the last one of the link.
  package internal(set) var times: (first: Int64, last: Int64)
  package internal(set) var end: End?
  /// Whether the link was encrypted with the key of a bond that is older than the link.
  package internal(set) var usesEarlierBond = false
  /// The types of the attributes that the trace reveals.
  package internal(set) var types: [AttributeHandle: BluetoothUUID] = [:]
  /// What a replay leaves out, in the order of the packets.
  package internal(set) var omissions: [Omission] = []

  init(number: Int, _ entry: TraceEntry, _ link: ConnectionHandle) {
    (self.number, self.link, peer) = (number, link, entry.peer)
    (packets, times) = (entry.number...entry.number, (entry.time, entry.time))
  }

  /// The link in a list of them.
  package var summary: String {
    let device = peer.map { " with \($0.word)" } ?? ""
    let range = "packets \(packets.lowerBound) to \(packets.upperBound)"
    return "\(number): link \(link)\(device), \(range), \(clientCount) requests and commands"
  }
}

/// Names and values of a session in plain words.
extension RecordedSession {
  /// `0x0003 Device Name`.
  package func name(of handle: AttributeHandle) -> String {
    types[handle].map { "\(handle) \(AssignedNames.uuid($0) ?? $0.uuidString)" } ?? "\(handle)"
  }

  /// The value of an attribute in plain words.
  package func text(_ value: [UInt8], of handle: AttributeHandle) -> String {
    ValueText.text(value[...], of: types[handle])
  }

  /// A request: `Read Request of 0x0003 Device Name`.
  package func text(ofRequest pdu: [UInt8]) -> String {
    guard let request = try? ATTPDU(decoding: pdu[...]) else { return ValueText.plain(pdu[...]) }
    let title = request.opcode.name ?? "\(request.opcode)"
    if let handle = request.requestedAttribute { return "\(title) of \(name(of: handle))" }
    var (names, entry) = (AttributeNames(), TraceEntry.blank)
    try? names.describe(pdu[...], in: &entry)
    return entry.details.isEmpty ? title : "\(title), \(entry.details)"
  }

  /// A response in plain words.
  package func text(ofResponse pdu: [UInt8], to request: [UInt8]) -> String {
    guard let response = try? ATTPDU(decoding: pdu[...]) else { return ValueText.plain(pdu[...]) }
    let attribute = (try? ATTPDU(decoding: request[...]))?.requestedAttribute
    switch response {
    case .errorResponse(let error): return "\(error.code)"
    case .readResponse(let packet): return ValueText.text(packet.value, of: attribute.flatMap { types[$0] })
    case .readBlobResponse(let packet): return ValueText.plain(packet.partAttributeValue)
    case .writeResponse, .executeWriteResponse: return response.opcode.name ?? "\(response.opcode)"
    default: break  // The others are lists, which the request explains.
    }
    var (names, entry) = (AttributeNames(), TraceEntry.blank)
    try? names.describe(request[...], in: &entry)
    entry.direction = .controllerToHost
    try? names.describe(pdu[...], in: &entry)
    let title = response.opcode.name ?? "\(response.opcode)"
    return entry.details.isEmpty ? title : "\(title), \(entry.details)"
  }
}

extension TraceEntry {
  fileprivate static var blank: Self { Self(time: 0, direction: .hostToController, layer: .att, name: "", details: "") }
}
