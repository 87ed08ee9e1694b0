import BLEATT
import BLEWire

extension GATTClient.Operation.Kind {
  /// Whether it is a command: it has no response.
  package var isCommand: Bool {
    switch self {
    case .writeWithoutResponse, .signedWrite: true
    case .exchangeMTU, .discoverPrimaryServices, .discoverPrimaryServicesByUUID, .findIncludedServices,
      .discoverCharacteristics, .discoverCharacteristicsByUUID, .discoverDescriptors, .read, .readLong,
      .readUsingUUID, .readMultiple, .readMultipleVariable, .write, .writeLong, .reliableWrite, .configure,
      .subscribeToServiceChanged, .request:
      false
    }
  }
}

extension GATTClient {
  /// Begins an operation that is not a command.
  mutating func begin(_ operation: Operation, now: Instant, into output: inout Output) {
    endVerification(before: operation.kind)
    var starting = Active(
      id: operation.id, kind: operation.kind, procedure: procedure(for: operation.kind),
      awaitsSecurity: operation.awaitsSecurity)
    if case .exchangeMTU = operation.kind, bearer.hasExchangedMTU {
      return finish(starting, .success(.mtu(bearer.mtu)), into: &output)
    }
    if let known = cachedOutcome(of: operation.kind) { return finish(starting, .success(known), into: &output) }
    let first = Result { () throws(GATTClientError) in try starting.procedure.begin(mtu: bearer.mtu) }
    follow(first, of: starting, now: now, into: &output)
  }

  /// Reads the Database Hash, before an operation that the cache may complete.
  mutating func verifyCache(now: Instant, into output: inout Output) {
    var verification = CacheVerification(attributeCache)
    let first = verification.begin(mtu: bearer.mtu)
    follow(.success(first), of: Active(procedure: AnyClientProcedure(verification)), now: now, into: &output)
  }

  /// Performs the next step of a procedure.
  mutating func follow(
    _ step: Result<ClientStep, GATTClientError>, of current: Active, now: Instant, into output: inout Output
  ) {
    switch step {
    case .success(.send(let request)):
      do throws(ATTClientError) {
        try bearer.send(request, as: .init(rawValue: current.id?.rawValue ?? 0), now: now, into: &output.pdus)
        active = current
      } catch {
        finish(current, .failure(.invalidParameters(error.description)), into: &output)
      }
    case .success(.finish(let outcome)): finish(current, .success(outcome), into: &output)
    case .failure(let error): failed(current, error, now: now, into: &output)
    }
  }

  /// A request of an operation has failed. One that only discovers is repeated once: the fault may have been that of
  /// one response. Otherwise the operation ends, and what came before the fault counts.
  mutating func failed(_ failed: Active, _ error: GATTClientError, now: Instant, into output: inout Output) {
    if !failed.hasRepeated, error.mayBePassing, let step = failed.procedure.repetition {
      var current = failed
      current.hasRepeated = true
      return follow(.success(step), of: current, now: now, into: &output)
    }
    let found = failed.procedure.result(endedBy: error)
    finish(failed, found.map { .success($0) } ?? .failure(error), into: &output)
  }

  /// Attributes have changed while an operation was performed: it begins again, or ends if its parameters are out of
  /// date.
  mutating func beginAgain(_ outdated: Active, now: Instant, into output: inout Output) {
    guard let kind = outdated.kind, kind.beginsAgain, outdated.restarts < limits.restarts else {
      return finish(outdated, .failure(.servicesChanged), into: &output)
    }
    var current = Active(
      id: outdated.id, kind: kind, procedure: procedure(for: kind), awaitsSecurity: outdated.awaitsSecurity,
      restarts: outdated.restarts + 1)
    let first = Result { () throws(GATTClientError) in try current.procedure.begin(mtu: bearer.mtu) }
    follow(first, of: current, now: now, into: &output)
  }

  /// Ends an operation, and stores what it has discovered.
  mutating func finish(
    _ ended: Active, _ result: Result<Outcome, GATTClientError>, into output: inout Output
  ) {
    let finding = ended.procedure.finding
    if case .databaseHash(let hash, let isRobust)? = finding { verified(hash, hasRobustCaching: isRobust) }
    guard let id = ended.id else { return }
    if ended.awaitsSecurity, result.isRefusedForSecurity { hold() }
    if case .success(let outcome) = result {
      if !changed.isEmpty, let kind = ended.kind { discovered(outcome.found, by: kind) }
      if case .characteristics(let found) = outcome.found,
        let serviceChanged = found.first(where: { $0.uuid == .serviceChanged })
      {
        serviceChangedHandle = serviceChanged.valueHandle
      }
      cache(outcome, of: ended.kind, finding)
    }
    if case .serviceChanged(let handle, _)? = finding { serviceChangedHandle = handle }
    output.events.append(.finished(id, result))
    if case .failure(.errorResponse(.databaseOutOfSync, _, _)) = result {
      databaseChanged(.first ... .last, into: &output)
    }
  }

  /// Attributes that had changed were discovered again.
  private mutating func discovered(_ outcome: Outcome, by kind: Operation.Kind) {
    switch (kind, outcome) {
    case (.discoverCharacteristics(let range), .characteristics(let found)),
      (.discoverCharacteristicsByUUID(_, let range), .characteristics(let found)):
      changed.remove(range)
      // A value may lie outside of its service.
      for characteristic in found { changed.remove(characteristic.valueHandle...characteristic.valueHandle) }
    case (.discoverDescriptors(let range), _): changed.remove(range)
    case (.readUsingUUID, .values(let found)): for value in found { changed.remove(value.handle...value.handle) }
    // Every other pair of an operation and its outcome reveals no attribute.
    default: break
    }
  }

  /// Sends a command (Vol 3, Part G, 4.9.1 and 4.9.2).
  mutating func sendCommand(_ kind: Operation.Kind, into pdus: inout PacketBuffer) throws(GATTClientError) {
    switch kind {
    case .signedWrite(let handle, let value) where !isLinkEncrypted:
      try send(try sign(handle, value), into: &pdus)
    case .signedWrite(let handle, let value), .writeWithoutResponse(let handle, let value):
      try send(WriteCommand(handle: handle, value: value[...]), into: &pdus)
    // ``Operation/Kind/isCommand`` has no other.
    default: break
    }
  }

  private mutating func send(_ command: some ATTPacket, into pdus: inout PacketBuffer) throws(GATTClientError) {
    do throws(ATTClientError) { try bearer.send(command: command, into: &pdus) } catch {
      throw .invalidParameters(error.description)
    }
  }

  /// Signs the opcode, the handle and the value with the next counter (Vol 3, Part H, 2.4.5).
  private mutating func sign(_ handle: AttributeHandle, _ value: [UInt8]) throws(GATTClientError) -> SignedWriteCommand
  {
    guard let key = signing, key.counter < .max else { throw .cannotSign }
    var message = [SignedWriteCommand.opcode.rawValue]
    message.append(littleEndian: handle.rawValue)
    message += value
    signing?.counter += 1
    return SignedWriteCommand(
      handle: handle, value: value[...], signCounter: key.counter, mac: key.code(message, key.counter))
  }

  private func procedure(for kind: Operation.Kind) -> AnyClientProcedure {
    let limit = limits.results
    switch kind {
    case .exchangeMTU(let size): return .init(MTUExchange(size: size))
    case .discoverPrimaryServices: return .init(PrimaryServiceDiscovery(limit: limit))
    case .discoverPrimaryServicesByUUID(let uuid): return .init(PrimaryServiceSearch(uuid, limit: limit))
    case .findIncludedServices(let range): return .init(IncludedServiceDiscovery(within: range, limit: limit))
    case .discoverCharacteristics(let range): return .init(CharacteristicDiscovery(within: range, limit: limit))
    case .discoverCharacteristicsByUUID(let uuid, let range):
      return .init(CharacteristicDiscovery(within: range, uuid: uuid, limit: limit))
    case .discoverDescriptors(let range): return .init(DescriptorDiscovery(within: range, limit: limit))
    case .read(let handle): return .init(ValueRead(handle: handle))
    case .readLong(let handle): return .init(LongValueRead(handle: handle))
    case .readUsingUUID(let uuid, let range): return .init(ValueSearch(uuid, within: range, limit: limit))
    case .readMultiple(let handles): return .init(MultipleRead(handles: handles))
    case .readMultipleVariable(let handles): return .init(MultipleVariableRead(handles: handles))
    case .write(let handle, let value) where value.count > bearer.mtu - 3:
      return .init(QueuedWrites([.init(handle: handle, value: value)], comparesEchoes: false))
    case .write(let handle, let value), .writeWithoutResponse(let handle, let value),
      .signedWrite(let handle, let value):
      return .init(ValueWrite(handle: handle, value: value))
    case .writeLong(let handle, let offset, let value):
      return .init(QueuedWrites([.init(handle: handle, offset: offset, value: value)], comparesEchoes: false))
    case .reliableWrite(let writes): return .init(QueuedWrites(writes, comparesEchoes: true))
    case .configure(let subscription, let range):
      return .init(SubscriptionProcedure(subscription, in: range, limit: limit))
    case .subscribeToServiceChanged:
      guard case .inUse(let cache) = caching, let known = cache.serviceChanged else {
        return .init(ServiceChangedProcedure(limit: limit))
      }
      return .init(ValueWrite(handle: known.configuration, value: [UInt8(Subscription.indicate.rawValue), 0]))
    case .request(let pdu): return .init(PlainRequest(pdu: pdu))
    }
  }

  /// Reports a notification. With an ATT_MTU of 517 its value can have 514 octets, two more than that of an attribute
  /// (Vol 3, Part F, 3.2.9): devices that send streams fill the ATT_MTU.
  func reportNotification(of handle: AttributeHandle, _ value: Span<UInt8>, into output: inout Output) {
    guard !isOutdated(handle, into: &output) else { return }
    output.events.append(.notification(handle, [UInt8](copying: value)))
  }

  /// Whether a value is of an attribute that has changed: nobody knows yet of which one. Such a value is not reported.
  private func isOutdated(_ handle: AttributeHandle, into output: inout Output) -> Bool {
    guard !changed.isEmpty, changed.contains(handle) else { return false }
    output.events.append(.violation(.servicesChanged))
    return true
  }

  /// Reports an indication; that of Service Changed is ``Event/servicesChanged(_:)`` (Vol 3, Part G, 7.1).
  mutating func reportIndication(of handle: AttributeHandle, _ value: Span<UInt8>, into output: inout Output) {
    guard handle == serviceChangedHandle else {
      guard !isOutdated(handle, into: &output) else { return }
      return output.events.append(.indication(handle, [UInt8](copying: value)))
    }
    guard value.count == 4, let start = value.uint16(at: 0), let end = value.uint16(at: 2), start != 0, start <= end
    else {
      return output.events.append(
        .violation(
          .malformedResponse(.handleValueIndication, reason: "the value of Service Changed is not a range of handles")))
    }
    databaseChanged(AttributeHandle(start)...AttributeHandle(end), into: &output)
  }

  /// Reports each value of a Multiple Handle Value Notification (Vol 3, Part F, 3.4.7.4); none if the PDU is malformed.
  func reportValues(of pdu: Span<UInt8>, into output: inout Output) {
    let before = output.events.count
    var offset = 1
    while let handle = pdu.uint16(at: offset), let length = pdu.uint16(at: offset + 2),
      Int(length) <= pdu.count - offset - 4
    {
      let value = pdu.extracting((offset + 4)..<(offset + 4 + Int(length)))
      if !isOutdated(AttributeHandle(handle), into: &output) {
        output.events.append(.notification(AttributeHandle(handle), [UInt8](copying: value)))
      }
      offset += 4 + Int(length)
    }
    guard offset == pdu.count, output.events.count - before >= 2 else {
      output.events.removeSubrange(before...)
      return output.events.append(
        .violation(
          .malformedResponse(
            .multipleHandleValueNotification, reason: "the lengths of the values do not add up to the length of the PDU"
          )))
    }
  }
}

extension Result<GATTClient.Outcome, GATTClientError> {
  /// Whether the server rejected a request for want of encryption, or the rest of a discovery.
  package var isRefusedForSecurity: Bool {
    let errors: [GATTClientError]
    switch self {
    case .success(let outcome): errors = outcome.faults.map { $0.error }
    case .failure(let error): errors = [error]
    }
    return errors.contains { $0.code == .insufficientAuthentication || $0.code == .insufficientEncryption }
  }
}

/// One request as it is. Its outcome is the response as it is.
struct PlainRequest: ClientProcedure {
  let pdu: [UInt8]

  func begin(mtu: Int) throws(GATTClientError) -> ClientStep {
    do throws(CodecError) { return .send(try ATTPDU(decoding: pdu[...])) } catch {
      throw .invalidParameters("a request that is no ATT PDU is not sent: \(error)")
    }
  }

  func receive(_ response: Span<UInt8>, mtu: Int) -> ClientStep { .finish(.value([UInt8](copying: response))) }

  func receive(_ error: ErrorResponse) -> ClientStep { .finish(.value(error.encodedPDU)) }
}

/// Exchange MTU (Vol 3, Part G, 4.3.1). The bearer decodes the response.
private struct MTUExchange: ClientProcedure {
  let size: Int

  func begin(mtu: Int) throws(GATTClientError) -> ClientStep {
    guard (ATT.defaultMTU...ATT.maximumMTU).contains(size) else {
      throw .invalidParameters(
        "exchange of the MTU failed: \(size) octets. Use \(ATT.defaultMTU) to \(ATT.maximumMTU)")
    }
    return .send(.exchangeMTURequest(.init(clientRxMTU: UInt16(truncatingIfNeeded: size))))
  }

  func receive(_ response: Span<UInt8>, mtu: Int) -> ClientStep { .finish(.mtu(mtu)) }
}
