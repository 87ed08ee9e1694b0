internal import BLEHCI
internal import BLEL2CAP
internal import BLEWire

/// The effects of the signalling channel.
extension KernelChannels {
  /// Acts on the effects, sends the PDUs, then the frames, and reads the sockets whose last SDU has been sent to the
  /// host.
  mutating func finish(_ turn: inout ChannelTurn, into output: inout KernelOutput) {
    var next = 0
    while next < turn.effects.count {
      perform(turn.effects[next], &turn, into: &output)
      next += 1
    }
    sendFrames(&turn, into: &output)
    guard !paused.isEmpty else { return }
    for id in paused {
      guard let channel = channels[id], signalling.channels[channel.number]?.queuedOctets == 0 else { continue }
      channels[id]?.isReading = true
      output.append(.read(id))
    }
    paused.removeAll { channels[$0]?.isReading != false }
  }

  mutating func sendFrames(_ turn: inout ChannelTurn, into output: inout KernelOutput) {
    for index in 0..<turn.pdus.count { output.append(frame: turn.pdus[index], channel: .signalling, on: handle) }
    turn.pdus.removeAll()
    // These effects report queues that accept SDUs again. They are not needed, because one SDU is sent at a time.
    var unused: [CreditBasedChannels.Effect] = []
    while let frame = signalling.channels.nextFrame(effects: &unused) {
      output.append(frame: frame.payload[...], channel: frame.channel, on: handle)
    }
  }

  private mutating func perform(
    _ effect: SignallingChannel.Effect, _ turn: inout ChannelTurn, into output: inout KernelOutput
  ) {
    switch effect {
    case .parameterUpdateRequested: signalling.answerParameterUpdate(accepted: false, into: &turn.pdus)
    case .parameterUpdateFinished: break
    case .channel(.requested(let request)): open(request, &turn, into: &output)
    case .channel(.opened(let numbers, let name?)):
      guard let number = numbers.first, let id = offers.removeValue(forKey: name) else { break }
      add(id, number, into: &output)
    case .channel(.openFailed(let name, _)):
      if let id = offers.removeValue(forKey: name) { output.append(.close(id)) }
    case .channel(.received(let number, let sdu)): received(sdu, on: number, &turn, into: &output)
    case .channel(.closed(let number, let reason)): closed(number, reason, &turn, into: &output)
    case .channel(.opened), .channel(.canSend), .channel(.reconfigured), .channel(.reconfigurationFailed): break
    }
  }

  /// Opens the host's channels, each with a socket.
  private mutating func open(
    _ request: CreditBasedChannels.Request, _ turn: inout ChannelTurn, into output: inout KernelOutput
  ) {
    let connection = ChannelConnection(
      spsm: request.spsm, mode: request.mode, mtu: request.remote.mtu, peer: peer)
    var opening = Opening(request: request, sockets: [], deadline: turn.now + Self.connectPatience)
    for _ in 0..<request.count {
      let id = takeSocket()
      opening.sockets.append((id, nil))
      connect(id, connection, into: &output)
    }
    openings.append(opening)
  }

  /// Receives the result for one socket of a request. After the last result, the request is answered.
  mutating func connected(
    _ id: ChannelSocketID, _ result: ConnectingResult, _ turn: inout ChannelTurn, into output: inout KernelOutput
  ) {
    for index in openings.indices {
      guard let place = openings[index].sockets.firstIndex(where: { $0.id == id }) else { continue }
      openings[index].sockets[place].result = result
      if openings[index].sockets.allSatisfy({ $0.result != nil }) {
        answer(openings.remove(at: index), &turn, into: &output)
      }
      return
    }
    // The host no longer waits.
    if case .open = result { output.append(.close(id)) }
  }

  private mutating func answer(_ opening: Opening, _ turn: inout ChannelTurn, into output: inout KernelOutput) {
    var mtus: [UInt16] = []
    var refusal = CreditBasedConnectionResult.noResources
    for socket in opening.sockets {
      switch socket.result {
      case .open(let mtu)?: mtus.append(mtu)
      case .refused(let result)?: refusal = result
      case nil: break
      }
    }
    // The channels of one request have one MTU.
    guard let mtu = mtus.min() else { return signalling.reject(opening.request, refusal, into: &turn.pdus) }
    let before = turn.effects.count
    signalling.accept(opening.request, Self.parameters(mtu: mtu), into: &turn.pdus, effects: &turn.effects)
    var numbers: [ChannelID] = []
    if turn.effects.count > before, case .channel(.opened(let opened, nil)) = turn.effects[before] { numbers = opened }
    for (place, socket) in opening.sockets.enumerated() {
      let number = place < numbers.count ? numbers[place] : nil
      switch (socket.result, number) {
      case (.open?, let number?): add(socket.id, number, into: &output)
      case (.open?, nil): output.append(.close(socket.id))
      // Others of the request are open: the host receives this channel, and then its end.
      case (_, let number?): signalling.close(number, now: turn.now, into: &turn.pdus, effects: &turn.effects)
      case (_, nil): break
      }
    }
  }

  private mutating func add(_ id: ChannelSocketID, _ number: ChannelID, into output: inout KernelOutput) {
    channels[id] = Channel(number: number)
    sockets[number] = id
    output.append(.read(id))
  }
}

/// SDUs from the host, and the ends of channels.
extension KernelChannels {
  private mutating func received(
    _ sdu: [UInt8], on number: ChannelID, _ turn: inout ChannelTurn, into output: inout KernelOutput
  ) {
    guard let id = sockets[number] else { return signalling.didRead(number, into: &turn.pdus) }
    channels[id]?.sdus.append(sdu)
    send(on: id, into: &output)
  }

  mutating func send(on id: ChannelSocketID, into output: inout KernelOutput) {
    guard let channel = channels[id], channel.canSend, !channel.isSending, let sdu = channel.sdus.first else { return }
    channels[id]?.isSending = true
    output.append(.send(id), sdu)
  }

  mutating func sent(_ id: ChannelSocketID, _ turn: inout ChannelTurn, into output: inout KernelOutput) {
    guard let channel = channels[id], channel.isSending else { return }
    channels[id]?.isSending = false
    channels[id]?.sdus.removeFirst()
    signalling.didRead(channel.number, into: &turn.pdus)
    if channel.closeDeadline != nil, channel.sdus.count == 1 { return output.append(.readQueue(id)) }
    send(on: id, into: &output)
  }

  /// The socket accepts no more SDUs. SDUs from the peer may still wait in it.
  mutating func failed(_ id: ChannelSocketID, _ turn: inout ChannelTurn, into output: inout KernelOutput) {
    guard let channel = channels[id] else { return }
    guard channel.closeDeadline == nil else { return remove(id, into: &output) }
    channels[id]?.stopSending()
    channels[id]?.sdus = []
    for _ in channel.sdus { signalling.didRead(channel.number, into: &turn.pdus) }
  }

  /// The peer has closed a channel, or the link has ended.
  mutating func ended(_ id: ChannelSocketID, _ turn: inout ChannelTurn, into output: inout KernelOutput) {
    guard let channel = channels[id] else { return }
    guard channel.closeDeadline == nil else { return remove(id, into: &output) }
    signalling.close(channel.number, now: turn.now, into: &turn.pdus, effects: &turn.effects)
  }

  private mutating func closed(
    _ number: ChannelID, _ reason: CreditBasedChannels.CloseReason, _ turn: inout ChannelTurn,
    into output: inout KernelOutput
  ) {
    guard let id = sockets.removeValue(forKey: number), let channel = channels[id] else { return }
    guard reason == .peer else { return remove(id, into: &output) }
    // The peer still receives the SDUs that the host sent before.
    if closing.count >= Self.closingLimit, let oldest = closing.first { remove(oldest, into: &output) }
    channels[id]?.closeDeadline = turn.now + Self.closePatience
    channels[id]?.isReading = false
    closing.append(id)
    if channel.sdus.isEmpty { output.append(.readQueue(id)) }
  }

  mutating func remove(_ id: ChannelSocketID, into output: inout KernelOutput) {
    guard let channel = channels.removeValue(forKey: id) else { return }
    if sockets[channel.number] == id { sockets[channel.number] = nil }
    closing.removeAll { $0 == id }
    paused.removeAll { $0 == id }
    output.append(.close(id))
  }
}
