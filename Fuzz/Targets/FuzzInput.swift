import BLEWire
import Foundation

/// The octets of one input, from which a harness takes actions and their arguments. Past the end each number is zero
/// and each run of octets is empty.
struct FuzzInput: RandomNumberGenerator {
  private let octets: [UInt8]
  private var position = 0
  /// The state of the generator past the end of the octets: a sequence of zeros would be drawn from for ever.
  private var generated: UInt64 = 0

  init(_ octets: some Collection<UInt8>) { self.octets = Array(octets) }

  var isEmpty: Bool { position >= octets.count }

  mutating func octet() -> UInt8 {
    guard position < octets.count else { return 0 }
    defer { position += 1 }
    return octets[position]
  }

  mutating func uint16() -> UInt16 { UInt16(octet()) | UInt16(octet()) << 8 }

  mutating func flag() -> Bool { octet() & 1 == 1 }

  /// A number from 0 to `count - 1`.
  mutating func index(_ count: Int) -> Int { count > 0 ? Int(octet()) % count : 0 }

  mutating func element<Element>(of choices: [Element]) -> Element { choices[index(choices.count)] }

  mutating func take(_ count: Int) -> [UInt8] {
    let end = min(octets.count, position + max(0, count))
    defer { position = end }
    return Array(octets[position..<end])
  }

  /// A length octet, then this number of octets.
  mutating func counted() -> [UInt8] { take(Int(octet())) }

  mutating func rest() -> [UInt8] { take(octets.count) }

  /// For packets with random values: the next eight octets, past the end SplitMix64.
  mutating func next() -> UInt64 {
    let octets = take(8)
    guard octets.count < 8 else { return octets.reduce(0) { $0 << 8 | UInt64($1) } }
    generated &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (generated ^ generated >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}

func say(_ line: String) { FileHandle.standardError.write(Data("\(line)\n".utf8)) }

/// Ends the run with the input as a finding. `precondition` has no message in a release build.
func require(_ holds: Bool, _ rule: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line) {
  guard !holds else { return }
  say("\(file):\(line): \(rule())")
  abort()
}

/// Whether the faults of ``plantedFault(_:_:)`` are on: `scripts/fuzz --planted` sets the environment variable.
private let hasPlantedFaults = ProcessInfo.processInfo.environment["FUZZ_PLANTED"] != nil

/// A fault that only the harness has: a rare state, which the fuzzer has to reach within a minute. It shows that a real
/// fault of its kind would be found.
func plantedFault(_ isReached: @autoclosure () -> Bool, _ state: String) {
  guard hasPlantedFaults, isReached() else { return }
  say("planted fault: \(state)")
  abort()
}
