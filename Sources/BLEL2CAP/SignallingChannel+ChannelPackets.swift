import BLEWire

/// Credit-based channels: the packets of the peer (Vol 3, Part A, 4.6, 4.7 and 4.22 to 4.28).
extension SignallingChannel {
  /// One channel (Vol 3, Part A, 4.22). A request with the identifier of a waiting one either repeats it, and has no
  /// response of its own, or breaks the rule that each request has an identifier of its own (Vol 3, Part A, 4).
  mutating func receive(
    _ packet: LECreditBasedConnectionRequest, _ identifier: UInt8, _ out: inout PacketBuffer, _ effects: inout [Effect]
  ) {
    let remote = CreditBasedChannel.Parameters(
      mtu: packet.mtu, mps: packet.mps, initialCredits: packet.initialCredits)
    let request = CreditBasedChannels.Request(
      identifier: identifier, spsm: packet.spsm, mode: .leCreditBased, remote: remote, remoteCIDs: [packet.sourceCID],
      partialResult: .successful)
    let fault: CreditBasedConnectionResult? =
      if let waiting = channels.request(identifier) {
        waiting.isRepeated(by: request) ? nil : .unacceptableParameters
      } else if !channels.services.contains(packet.spsm) {
        .spsmNotSupported
      } else if !packet.sourceCID.isDynamic {
        .invalidSourceCID
      } else if channels.isUsed(remote: packet.sourceCID) {
        .sourceCIDAlreadyAllocated
      } else {
        remote.isValid(for: .leCreditBased) ? nil : .unacceptableParameters
      }
    if let fault { return refuse(request, fault, &out) }
    if channels.request(identifier) == nil { take(request, &out, &effects) }
  }

  /// One to five channels (Vol 3, Part A, 4.25). Only the numbers that cannot be used are rejected; the others are
  /// opened.
  mutating func receive(
    _ packet: CreditBasedConnectionRequest, _ identifier: UInt8, _ out: inout PacketBuffer, _ effects: inout [Effect]
  ) {
    let remote = CreditBasedChannel.Parameters(
      mtu: packet.mtu, mps: packet.mps, initialCredits: packet.initialCredits)
    var request = CreditBasedChannels.Request(
      identifier: identifier, spsm: packet.spsm, mode: .enhancedCreditBased, remote: remote,
      remoteCIDs: packet.sourceCIDs, partialResult: .successful)
    if let waiting = channels.request(identifier) {
      return waiting.isRepeated(by: request) ? () : refuse(request, .invalidParameters, &out)
    }
    var result = CreditBasedConnectionResult.successful
    var seen: Set<ChannelID> = []
    let usable = packet.sourceCIDs.map { number in
      if !number.isDynamic {
        result = .invalidSourceCID
      } else if channels.isUsed(remote: number) || !seen.insert(number).inserted {
        result = .sourceCIDAlreadyAllocated
      } else {
        return number
      }
      return ChannelID.null
    }
    (request.remoteCIDs, request.partialResult) = (usable, result)
    if !(1...CreditBasedChannels.maximumPerRequest).contains(usable.count) {
      refuse(request, .invalidParameters, &out)
    } else if !channels.services.contains(packet.spsm) {
      refuse(request, .spsmNotSupported, &out)
    } else if !remote.isValid(for: .enhancedCreditBased) || remote.initialCredits == 0 {
      refuse(request, .unacceptableParameters, &out)
    } else if request.count == 0 {
      refuse(request, result, &out)
    } else {
      take(request, &out, &effects)
    }
  }

  private mutating func take(
    _ request: CreditBasedChannels.Request, _ out: inout PacketBuffer, _ effects: inout [Effect]
  ) {
    guard channels.requests.count < channels.limits.waitingRequests else { return refuse(request, .noResources, &out) }
    channels.requests.append(request)
    effects.append(.channel(.requested(request)))
  }

  mutating func receive(
    _ response: LECreditBasedConnectionResponse, _ identifier: UInt8, _ now: Instant, _ out: inout PacketBuffer,
    _ effects: inout [Effect]
  ) {
    guard case .open(_, _, .leCreditBased, _, _)? = channels.outstanding[identifier]?.request else { return }
    let remote = CreditBasedChannel.Parameters(
      mtu: response.mtu, mps: response.mps, initialCredits: response.initialCredits)
    let answer = OpeningAnswer(result: response.result, remoteCIDs: [response.destinationCID], remote: remote)
    finishOpening(identifier, answer, now, &out, &effects)
  }

  mutating func receive(
    _ response: CreditBasedConnectionResponse, _ identifier: UInt8, _ now: Instant, _ out: inout PacketBuffer,
    _ effects: inout [Effect]
  ) {
    guard case .open(_, _, .enhancedCreditBased, _, _)? = channels.outstanding[identifier]?.request else { return }
    if [.pending, .pendingAuthentication, .pendingAuthorization].contains(response.result) {
      channels.outstanding[identifier]?.deadline = now + CreditBasedChannels.pendingTimeout
      return
    }
    let remote = CreditBasedChannel.Parameters(
      mtu: response.mtu, mps: response.mps, initialCredits: response.initialCredits)
    let answer = OpeningAnswer(result: response.result, remoteCIDs: response.destinationCIDs, remote: remote)
    finishOpening(identifier, answer, now, &out, &effects)
  }

  /// The peer's answer to a request of ours, in both modes.
  private struct OpeningAnswer {
    var result: CreditBasedConnectionResult
    /// One for each channel that was requested; null where it was refused.
    var remoteCIDs: [ChannelID]
    var remote: CreditBasedChannel.Parameters
  }

  /// Ends a request of ours: opens the channels that have a number at the peer.
  private mutating func finishOpening(
    _ identifier: UInt8, _ answer: OpeningAnswer, _ now: Instant, _ out: inout PacketBuffer,
    _ effects: inout [Effect]
  ) {
    guard
      case .open(let id, let spsm, let mode, let local, let ours)? = channels.outstanding.removeValue(
        forKey: identifier)?.request
    else { return }
    let pairs = zip(ours, answer.remoteCIDs).filter { $1 != .null }
    // Some channels may be open even if the result is not "successful" (Vol 3, Part A, 4.26).
    guard answer.result == .successful || mode == .enhancedCreditBased && !pairs.isEmpty else {
      return effects.append(.channel(.openFailed(id, .refused(answer.result))))
    }
    guard !pairs.isEmpty, pairs.allSatisfy({ $1.isDynamic }), answer.remote.isValid(for: mode),
      mode == .leCreditBased || answer.remoteCIDs.count == ours.count
    else {
      // For the peer they are open.
      for (here, number) in pairs where number.isDynamic { disconnect(here, number, now: now, &out) }
      return effects.append(.channel(.openFailed(id, .invalidResponse)))
    }
    var opened: [ChannelID] = []
    for (here, number) in pairs {
      if let existing = channels.channel(remote: number) {
        // The peer has given its number twice: neither channel can be used (Vol 3, Part A, 4.26).
        close(existing.localCID, .duplicateCID, now: now, &out, &effects)
        disconnect(here, number, now: now, &out)
        opened.removeAll { $0 == existing.localCID }
      } else {
        channels.add(here, number, spsm, mode, ours: local, theirs: answer.remote)
        opened.append(here)
      }
    }
    effects.append(.channel(opened.isEmpty ? .openFailed(id, .invalidResponse) : .opened(opened, id)))
  }

  /// Credits for our frames (Vol 3, Part A, 4.24). Those for a channel that is not open are ignored.
  mutating func receive(
    _ indication: FlowControlCredit, _ now: Instant, _ out: inout PacketBuffer, _ effects: inout [Effect]
  ) {
    guard let channel = channels.channel(remote: indication.channel) else { return }
    do throws(CreditBasedChannel.Violation) {
      try channels.open[channel.localCID]?.addCredits(indication.credits)
    } catch {
      close(channel.localCID, .violation(error), now: now, &out, &effects)
    }
  }

  /// The peer closes a channel (Vol 3, Part A, 4.6).
  mutating func receive(
    _ request: DisconnectionRequest, _ identifier: UInt8, _ out: inout PacketBuffer, _ effects: inout [Effect]
  ) {
    let response = DisconnectionResponse(destinationCID: request.destinationCID, sourceCID: request.sourceCID)
    // Both ends may close the channel at the same time.
    let isClosing = channels.outstanding.values.contains {
      if case .close(request.destinationCID, request.sourceCID) = $0.request { true } else { false }
    }
    if isClosing { return send(response, identifier, &out) }
    guard let channel = channels.open[request.destinationCID] else {
      let reject = CommandReject(invalidChannel: request.destinationCID, remote: request.sourceCID)
      return send(reject, identifier, &out)
    }
    // A request with another number of the peer is ignored.
    guard channel.remoteCID == request.sourceCID else { return }
    channels.open[request.destinationCID] = nil
    send(response, identifier, &out)
    effects.append(.channel(.closed(request.destinationCID, .peer)))
  }

  /// The peer has closed a channel at our request: its number is free.
  mutating func receive(_ response: DisconnectionResponse, _ identifier: UInt8) {
    guard case .close(response.sourceCID, response.destinationCID)? = channels.outstanding[identifier]?.request else {
      return
    }
    channels.outstanding[identifier] = nil
  }

  /// Other sizes of the peer (Vol 3, Part A, 4.27). A request that names a channel twice is rejected like other
  /// unusable parameters.
  mutating func receive(
    _ request: CreditBasedReconfigureRequest, _ identifier: UInt8, _ out: inout PacketBuffer, _ effects: inout [Effect]
  ) {
    let known = request.destinationCIDs.compactMap { channels.channel(remote: $0) }
    let sizes = CreditBasedChannel.Parameters(mtu: request.mtu, mps: request.mps)
    let result: CreditBasedReconfigureResult =
      if known.isEmpty || known.count != request.destinationCIDs.count
        || known.contains(where: { $0.mode != .enhancedCreditBased })
      {
        .invalidDestinationCID
      } else if !sizes.isValid(for: .enhancedCreditBased) || known.count > CreditBasedChannels.maximumPerRequest
        || Set(request.destinationCIDs).count != known.count
      {
        .unacceptableParameters
      } else if known.contains(where: { request.mtu < $0.remote.mtu }) {
        .mtuReductionNotAllowed
      } else if known.count > 1, known.contains(where: { request.mps < $0.remote.mps }) {
        .mpsReductionNotAllowed
      } else {
        .successful
      }
    if result == .successful {
      for channel in known { channels.open[channel.localCID]?.reconfigure(mtu: request.mtu, mps: request.mps) }
      effects.append(.channel(.reconfigured(known.map { $0.localCID })))
    }
    send(CreditBasedReconfigureResponse(result: result), identifier, &out)
  }

  mutating func receive(
    _ response: CreditBasedReconfigureResponse, _ identifier: UInt8, _ effects: inout [Effect]
  ) {
    guard case .reconfigure(let numbers, let mtu, let mps)? = channels.outstanding[identifier]?.request else { return }
    channels.outstanding[identifier] = nil
    guard response.result == .successful else {
      return effects.append(.channel(.reconfigurationFailed(numbers, response.result)))
    }
    for number in numbers { channels.open[number]?.setLocalSizes(mtu: mtu, mps: mps) }
    effects.append(.channel(.reconfigured(numbers)))
  }

  /// The peer does not support a request, or its channel is closed already.
  ///
  /// - Returns: whether it was a request about channels.
  mutating func receive(_ reject: CommandReject, _ identifier: UInt8, _ effects: inout [Effect]) -> Bool {
    guard let rejected = channels.outstanding.removeValue(forKey: identifier) else { return false }
    switch rejected.request {
    case .open(let id, _, _, _, _): effects.append(.channel(.openFailed(id, .notUnderstood(reject.reason))))
    case .reconfigure(let numbers, _, _): effects.append(.channel(.reconfigurationFailed(numbers, nil)))
    case .close: break
    }
    return true
  }

  /// Ends the requests whose response is overdue (Vol 3, Part A, 6.2.1). A channel that was to be closed is closed.
  mutating func tickChannels(now: Instant, _ effects: inout [Effect]) {
    for (identifier, overdue) in channels.outstanding.sorted(by: { $0.key < $1.key }) where overdue.deadline <= now {
      channels.outstanding[identifier] = nil
      switch overdue.request {
      case .open(let id, _, _, _, _): effects.append(.channel(.openFailed(id, .timedOut)))
      case .reconfigure(let numbers, _, _): effects.append(.channel(.reconfigurationFailed(numbers, nil)))
      case .close: break
      }
    }
  }
}
