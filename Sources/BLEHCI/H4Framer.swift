import BLEWire

/// Cuts a stream of octets into HCI packets, whatever the sizes it arrives in (Vol 4, Part A, 2).
///
/// A packet that lies whole in the input is pointed at there, uncopied; only one that is cut by the end of the input is
/// collected inside. H4 has no marks to find a packet's start again, so after an unknown indicator or an over-long packet
/// the stream is of no use: every later call throws the same error until ``reset()``.
///
/// ```
///             indicator            header             all octets
///   idle ──────────────▶ header ───────────▶ body ───────────────▶ idle
///     └── unknown indicator, length above the limit ──▶ failed ──reset()──▶ idle
/// ```
///
/// ```swift
/// var framer = H4Framer()
/// try framer.receive(octets.span) { packet in print(packet.count) }
/// // when the stream ends:
/// try framer.finish()
/// ```
public struct H4Framer: Sendable {
  /// The longest packet that H4 can carry: an indicator, the header of an ACL packet and 65535 octets.
  public static let longestPacket = 5 + 0xFFFF

  /// No packet longer than this, indicator included, is taken; it bounds what the framer ever holds.
  public let limit: Int
  /// The packet that ``Place/collected`` points at; valid until the next call.
  public private(set) var collected: [UInt8] = []
  private var isHandedOut = false
  private var failure: H4Error?

  /// - Parameter limit: octets of the longest packet to take, indicator included.
  public init(limit: Int = H4Framer.longestPacket) { self.limit = limit }

  /// Where a whole packet lies, its indicator first.
  public enum Place: Equatable, Sendable {
    /// In these octets of the input.
    case input(Range<Int>)
    /// In ``H4Framer/collected``.
    case collected
  }

  /// Finds the next packet in `input` from `offset` on, and moves `offset` behind what it took.
  ///
  /// - Returns: nil when the input is used up; its last octets are kept where a packet has only begun.
  public mutating func next(in input: Span<UInt8>, from offset: inout Int) throws(H4Error) -> Place? {
    if let failure { throw failure }
    if isHandedOut {
      collected.removeAll(keepingCapacity: true)
      isHandedOut = false
    }
    guard offset >= 0, offset < input.count else { return nil }
    do throws(H4Error) {
      if collected.isEmpty {
        let rest = input.extracting(offset..<input.count)
        if let length = try packetLength(rest), length <= rest.count {
          defer { offset += length }
          return .input(offset..<offset + length)
        }
      }
      return try collect(input, from: &offset) ? .collected : nil
    } catch {
      failure = error
      throw error
    }
  }

  /// Hands every packet that `input` completes to `body`, in order, its indicator first.
  ///
  /// Packets before the octets that break the stream are handed out before the error is thrown.
  public mutating func receive(_ input: Span<UInt8>, _ body: (Span<UInt8>) -> Void) throws(H4Error) {
    var offset = 0
    while let place = try next(in: input, from: &offset) {
      switch place {
      case .input(let range): body(input.extracting(range))
      case .collected: body(collected.span)
      }
    }
  }

  /// Says that the stream has ended.
  ///
  /// - Throws: ``H4Error/cutShort(octets:)`` when it ended inside a packet, or the error that broke it before.
  public mutating func finish() throws(H4Error) {
    if let failure { throw failure }
    guard isHandedOut || collected.isEmpty else {
      let error = H4Error.cutShort(octets: collected)
      failure = error
      throw error
    }
  }

  /// Forgets everything, for a stream that begins anew.
  public mutating func reset() {
    collected.removeAll(keepingCapacity: true)
    isHandedOut = false
    failure = nil
  }

  /// Moves octets from `input` to ``collected`` until they are one packet; false where the input ends before.
  private mutating func collect(_ input: Span<UInt8>, from offset: inout Int) throws(H4Error) -> Bool {
    while offset < input.count {
      let length = try packetLength(collected.span)
      let missing = length.map { $0 - collected.count } ?? 1
      let taken = min(missing, input.count - offset)
      collected.append(copying: input.extracting(offset..<offset + taken))
      offset += taken
      if let length = try packetLength(collected.span), collected.count == length {
        isHandedOut = true
        return true
      }
    }
    return false
  }

  /// The length of the packet that begins `octets`, indicator included; nil where its header is cut.
  private func packetLength(_ octets: Span<UInt8>) throws(H4Error) -> Int? {
    guard octets.count > 0 else { return nil }
    guard let type = HCIPacketType(rawValue: octets[0]) else { throw .unknownIndicator(octets[0]) }
    let header = 1 + type.headerLength
    guard octets.count >= header else { return nil }
    let length =
      switch type {
      case .command, .synchronousData: header + Int(octets[3])
      case .event: header + Int(octets[2])
      case .aclData: header + (Int(octets[3]) | Int(octets[4]) << 8)
      case .isoData: header + (Int(octets[3]) | Int(octets[4] & 0x3F) << 8)
      }
    guard length <= limit else { throw .tooLong(type, length: length, limit: limit) }
    return length
  }
}

/// Why a stream is no stream of HCI packets.
public enum H4Error: Error, Equatable, Sendable {
  /// This octet stands where a packet indicator must: host and controller are out of step.
  case unknownIndicator(UInt8)
  /// A packet claims more octets than the framer takes.
  case tooLong(HCIPacketType, length: Int, limit: Int)
  /// The stream ended inside the packet that these octets begin.
  case cutShort(octets: [UInt8])
}

extension H4Error: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unknownIndicator(let octet):
      "octet 0x\(String(octet, radix: 16)) is no HCI packet indicator: the stream is out of step, or the speed of the "
        + "line is wrong; reset the controller and open the stream again"
    case .tooLong(let type, let length, let limit):
      "a packet (\(type)) claims \(length) octets where at most \(limit) are taken: the stream is out of step"
    case .cutShort(let octets):
      "the stream ended inside a packet, after its first \(octets.count) octets: \(octets.prefix(16).hexadecimal)"
    }
  }
}
