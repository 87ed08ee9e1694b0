import BLEWire

/// One credit-based channel: segmentation, reassembly and credits in both directions (Vol 3, Part A, 3.4.3 and 10).
///
/// ```
///   send(sdu) ──► queue ──nextFrame()──► K-frames, one credit of the peer each
///   K-frames ──receive──► SDU ──► the owner; an unread SDU keeps the credits of its frames until didRead()
/// ```
///
/// Memory is limited: the peer can have ``Parameters/initialCredits`` frames of ``Parameters/mps`` octets unread here,
/// and one SDU of ``Parameters/mtu`` octets. The credits of a frame that does not end its SDU are given back at once
/// only while no SDU is unread. The queue has at most ``queueLimit`` octets.
public struct CreditBasedChannel: Sendable {
  /// The flow control mode, which the request that opens the channel decides.
  public enum Mode: Hashable, Sendable {
    /// LE credit-based flow control (Vol 3, Part A, 10.1).
    case leCreditBased
    /// Enhanced credit-based flow control (Vol 3, Part A, 10.2).
    case enhancedCreditBased

    /// The smallest MTU and MPS, in octets: 23 or 64 (Vol 3, Part A, 4.22 and 4.25).
    public var minimumSize: UInt16 { self == .leCreditBased ? 23 : 64 }
  }

  /// What one end accepts.
  public struct Parameters: Hashable, Sendable {
    /// The largest SDU, in octets.
    public var mtu: UInt16
    /// The largest payload of a frame, in octets, with the SDU Length of the first frame of an SDU; at most 65,533.
    public var mps: UInt16
    /// The number of frames that the peer may send at first.
    public var initialCredits: UInt16

    /// Parameters with these sizes. A frame of the default MPS fills one data packet of the LE data length extension,
    /// and an SDU of the default MTU fills nine frames. The default credits are those of three connection events of 50
    /// ms on LE 2M, and go back rarely enough that the packets with them cost little.
    public init(mtu: UInt16 = 2221, mps: UInt16 = 247, initialCredits: UInt16 = 128) {
      self.mtu = mtu
      self.mps = mps
      self.initialCredits = initialCredits
    }

    /// Whether the sizes are in the ranges of the mode.
    public func isValid(for mode: Mode) -> Bool {
      mtu >= mode.minimumSize && (mode.minimumSize...65_533).contains(mps)
    }
  }

  /// The rule of the protocol that the peer broke. Each violation ends the channel (Vol 3, Part A, 3.4.3 and 10.1).
  public enum Violation: Error, Hashable, Sendable {
    /// The peer sent a frame without a credit.
    case noCredit
    /// The payload of a frame exceeds our MPS.
    case frameTooLong(Int)
    /// The SDU Length exceeds our MTU.
    case sduTooLong(Int)
    /// The frames of an SDU have more octets than its SDU Length.
    case moreThanSDULength
    /// The first frame of an SDU is shorter than the SDU Length field.
    case noSDULength
    /// The peer gave more credits than 65,535 in total.
    case tooManyCredits
  }

  /// The reason why an SDU was not queued.
  public enum SendRefusal: Error, Hashable, Sendable {
    /// The SDU has more octets than the peer's MTU.
    case exceedsMTU(limit: Int)
    /// The queue is full: wait for ``CreditBasedChannels/Effect/canSend(_:)``.
    case queueFull
    /// The channel is not open.
    case notOpen
  }

  /// The length of the SDU Length field, in octets.
  static let sduLengthSize = 2

  /// The number of the channel at this end, in frames of the peer.
  public let localCID: ChannelID
  /// The number of the channel at the peer, in our frames.
  public internal(set) var remoteCID: ChannelID
  /// The service.
  public let spsm: SPSM
  /// The flow control mode.
  public let mode: Mode
  /// What this end accepts.
  public internal(set) var local: Parameters
  /// The sizes that the peer accepts, and its initial credits.
  public internal(set) var remote: Parameters
  /// The octets that may wait to be sent. An SDU that begins below it is taken whole.
  public let queueLimit: Int
  /// The SDUs that may wait to be sent: an empty one has no octets.
  public static let maximumQueuedSDUs = 65_536

  /// The frames that we may send.
  public private(set) var credits: UInt16
  /// The frames that the peer may send.
  public private(set) var grantedCredits: UInt16
  /// Credits that the peer gets with the next indication.
  private var owedCredits: UInt16 = 0
  private var queue = FIFO<[UInt8]>()
  /// The octets of the first SDU in the queue that are sent.
  private var sent = 0
  /// The octets in the queue that are not sent.
  public private(set) var queuedOctets = 0
  private var sdu: [UInt8] = []
  /// The SDU Length of the SDU that is being received.
  private var sduLength: Int?
  private var wasFull = false
  /// The credits that each SDU keeps until it is read.
  private var unread = FIFO<UInt16>()
  /// The credits of frames that the SDU that is being received keeps.
  private var kept: UInt16 = 0

  init(
    localCID: ChannelID, remoteCID: ChannelID, spsm: SPSM, mode: Mode, local: Parameters, remote: Parameters,
    queueLimit: Int
  ) {
    self.localCID = localCID
    self.remoteCID = remoteCID
    self.spsm = spsm
    self.mode = mode
    self.local = local
    self.remote = remote
    self.queueLimit = queueLimit
    credits = remote.initialCredits
    grantedCredits = local.initialCredits
  }

  /// Whether a frame waits and there is a credit for it.
  public var canSendFrame: Bool { credits > 0 && !queue.isEmpty }
  /// Whether the queue takes another SDU.
  public var canSend: Bool { queuedOctets < queueLimit && queuedSDUs < Self.maximumQueuedSDUs }
  /// The SDUs in the queue, a partly sent one included.
  public var queuedSDUs: Int { queue.count }

  /// Queues an SDU.
  mutating func send(_ sdu: [UInt8]) throws(SendRefusal) {
    guard sdu.count <= Int(remote.mtu) else { throw .exceedsMTU(limit: Int(remote.mtu)) }
    guard canSend else {
      wasFull = true
      throw .queueFull
    }
    queue.append(sdu)
    queuedOctets += sdu.count
    wasFull = !canSend
  }

  /// Takes the payload of the next K-frame, if there is one and there is a credit for it.
  ///
  /// - Parameter packetLength: the length of the packets that a frame fills, in octets; 0 if it is not known.
  mutating func nextFrame(filling packetLength: Int = 0) -> [UInt8]? {
    guard credits > 0, let next = queue.first else { return nil }
    credits -= 1
    let (isFirst, count) = (sent == 0, next.count)
    let lengthSize = isFirst ? Self.sduLengthSize : 0
    let longest = Int(remote.mps)
    // A frame that does not end its SDU fills packets, and leaves none of them almost empty.
    let isLast = count - sent + lengthSize <= longest
    let room = (isLast ? longest : Self.frameLength(atMost: longest, filling: packetLength)) - lengthSize
    let part = sent..<min(count, sent + room)
    var frame: [UInt8] = []
    frame.reserveCapacity(part.count + Self.sduLengthSize)
    if isFirst { frame.append(littleEndian: UInt16(truncatingIfNeeded: count)) }
    frame.append(copying: next.span.extracting(part))
    sent += part.count
    queuedOctets -= part.count
    if sent == count {
      queue[0] = []
      queue.removeFirst(1)
      sent = 0
    }
    return frame
  }

  /// The greatest payload of a frame that fills packets, in octets; the longest one if there is none.
  private static func frameLength(atMost longest: Int, filling packetLength: Int) -> Int {
    guard packetLength > 0 else { return longest }
    let packets = (longest + BasicFrame.headerLength) / packetLength
    return packets > 0 ? packets * packetLength - BasicFrame.headerLength : longest
  }

  /// Whether the queue was full and takes SDUs again; true once each time.
  mutating func takeCanSend() -> Bool {
    guard wasFull, canSend else { return false }
    wasFull = false
    return true
  }

  /// Receives the payload of a K-frame.
  ///
  /// - Returns: the SDU that it completes.
  mutating func receive(_ payload: Span<UInt8>) throws(Violation) -> [UInt8]? {
    guard grantedCredits > 0 else { throw .noCredit }
    guard payload.count <= Int(local.mps) else { throw .frameTooLong(payload.count) }
    grantedCredits -= 1
    var part = payload
    if sduLength == nil {
      guard let length = payload.uint16(at: 0) else { throw .noSDULength }
      guard length <= local.mtu else { throw .sduTooLong(Int(length)) }
      sduLength = Int(length)
      sdu.reserveCapacity(Int(length))
      part = payload.extracting(Self.sduLengthSize..<payload.count)
    }
    guard let length = sduLength, sdu.count + part.count <= length else { throw .moreThanSDULength }
    sdu.append(copying: part)
    guard sdu.count == length else {
      // The SDU already has its memory: the frame needs none of its own.
      if unread.isEmpty { owedCredits += 1 } else { kept += 1 }
      return nil
    }
    defer { (sdu, sduLength) = ([], nil) }
    unread.append(kept + 1)
    kept = 0
    return sdu
  }

  /// One SDU was read: its credits go back to the peer.
  mutating func didRead() {
    guard let credits = unread.first else { return }
    unread.removeFirst(1)
    owedCredits += credits
    guard unread.isEmpty else { return }
    owedCredits += kept
    kept = 0
  }

  /// Takes the credits that the peer gets now: half of the initial ones or more, or the first one after it has none.
  mutating func takeOwedCredits() -> UInt16? {
    guard owedCredits > 0, grantedCredits == 0 || owedCredits >= max(1, local.initialCredits / 2) else { return nil }
    defer { owedCredits = 0 }
    grantedCredits += owedCredits
    return owedCredits
  }

  /// The peer allows `count` more frames. Zero is ignored (Vol 3, Part A, 4.24).
  mutating func addCredits(_ count: UInt16) throws(Violation) {
    let (sum, overflow) = credits.addingReportingOverflow(count)
    guard !overflow else { throw .tooManyCredits }
    credits = sum
  }

  /// The peer has other sizes now (Vol 3, Part A, 4.27).
  mutating func reconfigure(mtu: UInt16, mps: UInt16) { (remote.mtu, remote.mps) = (mtu, mps) }

  /// The peer has accepted other sizes of this end.
  mutating func setLocalSizes(mtu: UInt16, mps: UInt16) { (local.mtu, local.mps) = (mtu, mps) }
}

extension CreditBasedChannel.Violation: CustomStringConvertible {
  /// The rule that the peer broke.
  public var description: String {
    switch self {
    case .noCredit: "a frame without a credit"
    case .frameTooLong(let count): "a frame of \(count) octets, more than the MPS"
    case .sduTooLong(let count): "an SDU of \(count) octets, more than the MTU"
    case .moreThanSDULength: "more octets than the SDU Length"
    case .noSDULength: "a first frame without an SDU Length"
    case .tooManyCredits: "more than 65,535 credits"
    }
  }
}

extension CreditBasedChannel.SendRefusal: CustomStringConvertible {
  /// What failed and what to do.
  public var description: String {
    switch self {
    case .exceedsMTU(let limit): "SDU not sent: the peer accepts \(limit) octets. Send it in parts"
    case .queueFull: "SDU not sent: the queue of the channel is full. Wait until the channel can send"
    case .notOpen: "SDU not sent: the channel is not open. Open it again"
    }
  }
}
