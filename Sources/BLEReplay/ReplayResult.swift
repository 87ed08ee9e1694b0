package import BLEATT
import BLETrace
import BLEWire

/// Something that a device did in a replay and not in the trace, or in another way.
package struct ReplayDifference: Equatable, Sendable, CustomStringConvertible {
  package enum Kind: String, Sendable {
    /// Another response to a request.
    case response
    /// Another value that the device sent by itself.
    case value
    /// A value that the device has not sent.
    case missingValue
    /// A value that the trace does not have.
    case additionalValue
    /// The link was not encrypted.
    case security
    /// The link ended, or did not end.
    case link
  }

  package var kind: Kind
  /// The packet of the trace; nil for a value that the trace does not have.
  package var packet: Int?
  /// The request, or the value, with the name of the attribute.
  package var name: String
  package var attribute: AttributeHandle?
  /// In plain words; nil where there is none.
  package var recorded: String?
  package var replayed: String?
  /// The PDUs, or the values.
  package var recordedOctets: [UInt8]?
  package var replayedOctets: [UInt8]?

  package var description: String {
    let place = packet.map { "packet \($0): " } ?? ""
    return "\(place)\(name): recorded \(recorded ?? "nothing"), now \(replayed ?? "nothing")"
  }
}

/// The outcome of a replay.
package struct ReplayResult: Sendable, CustomStringConvertible {
  /// The differences that are kept. More are counted.
  package static let differenceLimit = 256

  package private(set) var differences: [ReplayDifference] = []
  /// The differences beyond ``differenceLimit``.
  package private(set) var furtherDifferences = 0
  /// What was not repeated or not compared, and what explains differences, in lines.
  package var notes: [String] = []
  package var requestCount = 0
  package var commandCount = 0
  /// The values that the device sent by itself and that were compared.
  package var valueCount = 0
  /// The session that was repeated, and the device.
  package var session = ""
  package var device = ""

  package init() {}

  package var isEqual: Bool { differences.isEmpty }

  mutating func add(_ difference: ReplayDifference) {
    if differences.count < Self.differenceLimit { differences.append(difference) } else { furtherDifferences += 1 }
  }

  /// The differences in the order of the trace; those without a packet follow.
  mutating func sort() { differences.sort { $0.packet ?? .max < $1.packet ?? .max } }

  /// A line with the counts, one for each difference, and those about what was left out.
  package var lines: [String] {
    func text(_ count: Int, _ noun: String) -> String {
      "\(count == 0 ? "no" : "\(count)") \(noun)\(count > 1 ? "s" : "")"
    }
    let counts = "\(text(requestCount, "request")), \(text(commandCount, "command")), \(text(valueCount, "value"))"
    let outcome = text(differences.count + furtherDifferences, "difference")
    var lines = ["\(session), repeated against \(device) with \(counts): \(outcome)"]
    lines += differences.map(\.description)
    if furtherDifferences > 0 { lines.append("and \(furtherDifferences) more differences") }
    return lines + notes
  }

  package var description: String { lines.joined(separator: "\n") }
}
