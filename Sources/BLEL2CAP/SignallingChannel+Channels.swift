public import BLEWire

/// Credit-based channels: the commands of the owner (Vol 3, Part A, 4.22 to 4.28).
extension SignallingChannel {
  /// A request for channels.
  public struct ChannelOpening: Hashable, Sendable {
    /// The service at the peer.
    public var spsm: SPSM
    /// The flow control mode.
    public var mode: CreditBasedChannel.Mode
    /// The number of channels: 1, or 1 to 5 with enhanced flow control.
    public var count: Int
    /// The sizes and credits of this end on each channel.
    public var local: CreditBasedChannel.Parameters

    /// A request with these fields.
    public init(
      spsm: SPSM, mode: CreditBasedChannel.Mode = .leCreditBased, count: Int = 1,
      local: CreditBasedChannel.Parameters = .init()
    ) {
      self.spsm = spsm
      self.mode = mode
      self.count = count
      self.local = local
    }
  }

  /// The reason why a request for channels was not sent.
  public enum ChannelRefusal: Error, Equatable, Sendable {
    /// MTU or MPS are outside the range of the mode, or there are no initial credits.
    case invalidParameters(CreditBasedChannel.Parameters, CreditBasedChannel.Mode)
    /// The count is not 1, or 1 to 5 with enhanced flow control.
    case invalidCount(Int)
    /// The link has no more channels.
    case tooMany(limit: Int)
    /// The channel is not open, or has another mode.
    case noSuchChannel(ChannelID)
  }

  /// Requests channels from the peer. The result is ``CreditBasedChannels/Effect/opened(_:_:)`` or
  /// ``CreditBasedChannels/Effect/openFailed(_:_:)``.
  ///
  /// - Throws: ``ChannelRefusal``; nothing is sent then.
  public mutating func open(
    _ opening: ChannelOpening, _ id: CreditBasedChannels.OpenID, now: Instant, into out: inout PacketBuffer
  ) throws(ChannelRefusal) {
    let (mode, local) = (opening.mode, opening.local)
    guard local.isValid(for: mode), local.initialCredits > 0 else { throw .invalidParameters(local, mode) }
    let counts = 1...(mode == .leCreditBased ? 1 : CreditBasedChannels.maximumPerRequest)
    guard counts.contains(opening.count) else { throw .invalidCount(opening.count) }
    let numbers = channels.takeCIDs(opening.count)
    guard numbers.count == opening.count, let identifier = takeIdentifier() else {
      throw .tooMany(limit: channels.limits.channels)
    }
    channels.outstanding[identifier] = (
      .open(id, opening.spsm, mode, local, numbers), now + Self.responseTimeout
    )
    switch mode {
    case .leCreditBased:
      var request = LECreditBasedConnectionRequest()
      (request.spsm, request.sourceCID) = (opening.spsm, numbers[0])
      (request.mtu, request.mps, request.initialCredits) = (local.mtu, local.mps, local.initialCredits)
      send(request, identifier, &out)
    case .enhancedCreditBased:
      var request = CreditBasedConnectionRequest()
      (request.spsm, request.sourceCIDs) = (opening.spsm, numbers)
      (request.mtu, request.mps, request.initialCredits) = (local.mtu, local.mps, local.initialCredits)
      send(request, identifier, &out)
    }
  }

  /// Opens the channels of a request of the peer.
  public mutating func accept(
    _ request: CreditBasedChannels.Request, _ local: CreditBasedChannel.Parameters, into out: inout PacketBuffer,
    effects: inout [Effect]
  ) {
    guard take(request) else { return }
    guard local.isValid(for: request.mode) else { return refuse(request, .noResources, &out) }
    var free = channels.takeCIDs(request.count)[...]
    let result = free.count < request.count ? CreditBasedConnectionResult.noResources : request.partialResult
    guard !free.isEmpty else { return refuse(request, result, &out) }
    var opened: [ChannelID] = []
    let numbers = request.remoteCIDs.map { remote in
      guard remote != .null, let number = free.popFirst() else { return ChannelID.null }
      channels.add(number, remote, request.spsm, request.mode, ours: local, theirs: request.remote)
      opened.append(number)
      return number
    }
    switch request.mode {
    case .leCreditBased:
      var response = LECreditBasedConnectionResponse()
      (response.destinationCID, response.mtu, response.mps) = (numbers[0], local.mtu, local.mps)
      response.initialCredits = local.initialCredits
      send(response, request.identifier, &out)
    case .enhancedCreditBased:
      var response = CreditBasedConnectionResponse()
      (response.mtu, response.mps, response.initialCredits) = (local.mtu, local.mps, local.initialCredits)
      (response.result, response.destinationCIDs) = (result, numbers)
      send(response, request.identifier, &out)
    }
    effects.append(.channel(.opened(opened, nil)))
  }

  /// Rejects all channels of a request of the peer.
  public mutating func reject(
    _ request: CreditBasedChannels.Request, _ result: CreditBasedConnectionResult, into out: inout PacketBuffer
  ) {
    guard take(request) else { return }
    refuse(request, result, &out)
  }

  /// Whether a request was waiting for its answer; afterwards it no longer waits.
  private mutating func take(_ request: CreditBasedChannels.Request) -> Bool {
    guard let index = channels.requests.firstIndex(of: request) else { return false }
    channels.requests.remove(at: index)
    return true
  }

  func refuse(
    _ request: CreditBasedChannels.Request, _ result: CreditBasedConnectionResult, _ out: inout PacketBuffer
  ) {
    switch request.mode {
    case .leCreditBased: send(LECreditBasedConnectionResponse(rejected: result), request.identifier, &out)
    case .enhancedCreditBased:
      var response = CreditBasedConnectionResponse()
      (response.result, response.destinationCIDs) = (result, request.remoteCIDs.map { _ in .null })
      send(response, request.identifier, &out)
    }
  }

  /// Changes the sizes that this end accepts on channels of the enhanced mode. The MTU does not shrink, and the MPS
  /// only on one channel.
  ///
  /// - Throws: ``ChannelRefusal``; nothing is sent then.
  public mutating func reconfigure(
    _ numbers: [ChannelID], mtu: UInt16, mps: UInt16, now: Instant, into out: inout PacketBuffer
  ) throws(ChannelRefusal) {
    guard (1...CreditBasedChannels.maximumPerRequest).contains(numbers.count), Set(numbers).count == numbers.count
    else { throw .invalidCount(numbers.count) }
    let sizes = CreditBasedChannel.Parameters(mtu: mtu, mps: mps)
    guard sizes.isValid(for: .enhancedCreditBased) else { throw .invalidParameters(sizes, .enhancedCreditBased) }
    for number in numbers {
      guard let channel = channels.open[number], channel.mode == .enhancedCreditBased else {
        throw .noSuchChannel(number)
      }
      guard mtu >= channel.local.mtu, mps >= channel.local.mps || numbers.count == 1 else {
        throw .invalidParameters(sizes, .enhancedCreditBased)
      }
    }
    guard let identifier = takeIdentifier() else { throw .tooMany(limit: channels.limits.channels) }
    channels.outstanding[identifier] = (.reconfigure(numbers, mtu: mtu, mps: mps), now + Self.responseTimeout)
    var request = CreditBasedReconfigureRequest()
    (request.mtu, request.mps, request.destinationCIDs) = (mtu, mps, numbers)
    send(request, identifier, &out)
  }

  /// Closes a channel. SDUs in its queue are lost; ``CreditBasedChannels/Effect/closed(_:_:)`` follows at once.
  public mutating func close(
    _ number: ChannelID, now: Instant, into out: inout PacketBuffer, effects: inout [Effect]
  ) {
    close(number, .local, now: now, &out, &effects)
  }

  mutating func close(
    _ number: ChannelID, _ reason: CreditBasedChannels.CloseReason, now: Instant, _ out: inout PacketBuffer,
    _ effects: inout [Effect]
  ) {
    guard let channel = channels.open.removeValue(forKey: number) else { return }
    disconnect(number, channel.remoteCID, now: now, &out)
    effects.append(.channel(.closed(number, reason)))
  }

  /// Has the peer close a channel that is closed here.
  mutating func disconnect(_ number: ChannelID, _ remote: ChannelID, now: Instant, _ out: inout PacketBuffer) {
    guard let identifier = takeIdentifier() else { return }
    channels.outstanding[identifier] = (.close(local: number, remote: remote), now + Self.responseTimeout)
    send(DisconnectionRequest(destinationCID: remote, sourceCID: number), identifier, &out)
  }

  /// One SDU of a channel was read: the peer gets its credit, with others in one indication.
  public mutating func didRead(_ number: ChannelID, into out: inout PacketBuffer) {
    channels.open[number]?.didRead()
    grantCredits(number, &out)
  }

  /// Receives the payload of a frame on a dynamic channel. A frame on a channel that is not open is ignored (Vol 3,
  /// Part A, 2.1).
  public mutating func receive(
    _ payload: Span<UInt8>, on number: ChannelID, now: Instant, into out: inout PacketBuffer,
    effects: inout [Effect]
  ) {
    guard channels.open[number] != nil else { return }
    do throws(CreditBasedChannel.Violation) {
      guard let sdu = try channels.open[number]?.receive(payload) else { return grantCredits(number, &out) }
      effects.append(.channel(.received(number, sdu)))
    } catch {
      close(number, .violation(error), now: now, &out, &effects)
    }
  }

  private mutating func grantCredits(_ number: ChannelID, _ out: inout PacketBuffer) {
    guard let credits = channels.open[number]?.takeOwedCredits(), let identifier = takeIdentifier() else { return }
    var indication = FlowControlCredit()
    (indication.channel, indication.credits) = (number, credits)
    send(indication, identifier, &out)
  }
}

extension SignallingChannel.ChannelRefusal: CustomStringConvertible {
  /// What failed and what to do.
  public var description: String {
    switch self {
    case .invalidParameters(let parameters, let mode):
      "channel not requested: MTU \(parameters.mtu) or MPS \(parameters.mps) is invalid. "
        + "Use \(mode.minimumSize) to 65,533 octets, and one credit or more"
    case .invalidCount(let count):
      "channel not requested: \(count) channels in one request. Use 1, or 1 to 5 with enhanced flow control"
    case .tooMany(let limit): "channel not requested: the link has \(limit) channels. Close one"
    case .noSuchChannel(let channel): "channel \(channel) is not open with enhanced flow control. Open it"
    }
  }
}

extension SignallingChannel {
  /// The number of a new request or indication; nil while all 255 are in use.
  mutating func takeIdentifier() -> UInt8? {
    for _ in 1...255 {
      lastIdentifier = lastIdentifier == .max ? 1 : lastIdentifier + 1
      if outstanding?.identifier != lastIdentifier, channels.outstanding[lastIdentifier] == nil {
        return lastIdentifier
      }
    }
    return nil
  }
}
