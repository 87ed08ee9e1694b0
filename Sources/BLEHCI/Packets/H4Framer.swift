import BLEWire

/// Finds the HCI packets in a stream of octets that is received in parts of any size (Vol 4, Part A, 2).
///
/// A packet that is complete in the input is not copied; only a packet across the end of the input is collected. H4 has
/// no marks for the start of a packet. After an unknown packet indicator or a packet that is too long, the stream
/// cannot be used any longer: every later call throws the same error until ``reset()``.
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
  /// The longest possible packet in octets: packet indicator, header of an ACL packet, 65,535 octets of data.
  public static let longestPacket = 5 + 0xFFFF

  /// The longest accepted packet in octets, packet indicator included. It limits the memory of the framer.
  public let limit: Int
  /// The packet of ``Place/collected``; valid until the next call.
  public private(set) var collected: [UInt8] = []
  private var isHandedOut = false
  private var failure: H4Error?
  /// Whether nothing is collected, and the stream can be used.
  @usableFromInline var isBetweenPackets = true

  /// A framer at the start of a stream.
  ///
  /// - Parameter limit: the longest accepted packet in octets, packet indicator included.
  public init(limit: Int = H4Framer.longestPacket) { self.limit = limit }

  /// The place of a packet; its first octet is the packet indicator.
  public enum Place: Equatable, Sendable {
    /// These octets of the input.
    case input(Range<Int>)
    /// ``H4Framer/collected``.
    case collected
  }

  /// Finds the next packet in `input` from `offset` on, and moves `offset` past it.
  ///
  /// - Returns: nil at the end of the input. The octets of an incomplete packet are kept.
  /// - Throws: ``H4Error`` if the stream cannot be used any longer.
  @inlinable public mutating func next(in input: Span<UInt8>, from offset: inout Int) throws(H4Error) -> Place? {
    // So it is for nearly all packets.
    if isBetweenPackets, offset >= 0, let length = Self.dataOrEventLength(in: input, at: offset), length <= limit {
      offset += length
      return .input(offset - length..<offset)
    }
    if isBetweenPackets, offset == input.count { return nil }
    return try search(input, from: &offset)
  }

  /// The length of the ACL data packet or event at `offset`, packet indicator included; nil for another packet, an
  /// incomplete one, and one of fewer than five octets.
  @inline(__always)
  @inlinable static func dataOrEventLength(in input: Span<UInt8>, at offset: Int) -> Int? {
    let rest = input.count - offset
    guard rest >= 5 else { return nil }
    let length: Int
    switch input[offset] {
    case HCIPacketType.aclData.rawValue: length = 5 + (Int(input[offset + 3]) | Int(input[offset + 4]) << 8)
    case HCIPacketType.event.rawValue: length = 3 + Int(input[offset + 2])
    default: return nil
    }
    return length <= rest ? length : nil
  }

  @usableFromInline mutating func search(_ input: Span<UInt8>, from offset: inout Int) throws(H4Error) -> Place? {
    let place = try searchAll(input, from: &offset)
    isBetweenPackets = collected.isEmpty
    return place
  }

  private mutating func searchAll(_ input: Span<UInt8>, from offset: inout Int) throws(H4Error) -> Place? {
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
      (failure, isBetweenPackets) = (error, false)
      throw error
    }
  }

  /// Calls `body` with every packet that `input` completes, in order, packet indicator first.
  ///
  /// - Throws: ``H4Error`` if the stream cannot be used any longer, after the calls for all packets before the error.
  public mutating func receive(_ input: Span<UInt8>, _ body: (Span<UInt8>) -> Void) throws(H4Error) {
    var offset = 0
    while let place = try next(in: input, from: &offset) {
      switch place {
      case .input(let range): body(input.extracting(range))
      case .collected: body(collected.span)
      }
    }
  }

  /// Ends the stream.
  ///
  /// - Throws: ``H4Error/truncated(octets:)`` if it ends inside a packet, or the previous error.
  public mutating func finish() throws(H4Error) {
    if let failure { throw failure }
    guard isHandedOut || collected.isEmpty else {
      let error = H4Error.truncated(octets: collected)
      (failure, isBetweenPackets) = (error, false)
      throw error
    }
  }

  /// Returns to the start of a stream.
  public mutating func reset() {
    collected.removeAll(keepingCapacity: true)
    isHandedOut = false
    failure = nil
    isBetweenPackets = true
  }

  /// Moves octets from `input` to ``collected`` up to the end of the packet; returns false if the input ends before
  /// that.
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

  /// The length of the packet at the start of `octets`, packet indicator included; nil for an incomplete header.
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

/// The reason why octets are not a stream of HCI packets.
public enum H4Error: Error, Equatable, Sendable {
  /// This octet was received instead of a packet indicator.
  case unknownIndicator(UInt8)
  /// The length in a header exceeds the limit.
  case tooLong(HCIPacketType, length: Int, limit: Int)
  /// The stream ends inside the packet that these octets start.
  case truncated(octets: [UInt8])
}

extension H4Error: CustomStringConvertible {
  /// What failed, why, and what to do.
  public var description: String {
    switch self {
    case .unknownIndicator(let octet):
      "\(octet.hexadecimalNumber) is not an HCI packet indicator: octets were lost, or the speed of the serial line is "
        + "wrong. Reset the controller and open the stream again"
    case .tooLong(let type, let length, let limit):
      "a packet (\(type)) has a length of \(length) octets, above the limit of \(limit): octets were lost. Reset the "
        + "controller and open the stream again"
    case .truncated(let octets):
      "the stream ends inside a packet, after its first \(octets.count) octets: \(octets.prefix(16).hexadecimal)"
    }
  }
}
