import BLEATT
import BLEGATT
import BLEL2CAP
import BLEWire

extension GATTClient.OperationID {
  /// The operations by which a client finds out whether the server has enhanced bearers.
  static let bearers = Self(rawValue: .max - 1)
}

/// The enhanced ATT bearers of our client on one link (Vol 3, Part F, 3.2.11; Part G, 5.3.2), and their set-up.
///
/// ```
///   link encrypted ──► reads Server Supported Features ──► sets its bit of Client Supported Features ──► requests the channels
///                          │ no such bit, any error: the first bearer alone, as ever
/// ```
///
/// Each bearer has a ``/BLEGATT/GATTClient`` with one transaction at a time. An operation on one attribute goes to the
/// bearer with the fewest operations. Operations on the same attribute stay in their order, on one bearer; discovery,
/// operations on several attributes, and commands use the first bearer. So do the operations of a bearer that is
/// closed. The first bearer ends only with the link, so a peer that opens and closes bearers moves an operation once.
///
/// A command keeps its place among the operations of all bearers: it waits for those before it, and those after it
/// wait for it.
///
/// A bearer whose ATT_MTU is below that of the first one gets operations that fit into one PDU there
/// (Docs/Decisions/gatt.md#enhanced-bearers): a write by its length, a read on trial. A Read Response of the full
/// length may contain only a part of the value: the read then moves to the first bearer.
struct ClientBearers: Sendable {
  fileprivate struct Bearer {
    var gatt = GATTClient()
    /// The operations that have not ended, in order: at most ``GATTClient/Limits/waitingOctets`` behind the first one.
    var operations: [GATTClient.Operation] = []
    /// The transaction of the first operation; nil where it has not begun.
    var current: Transaction?
  }

  fileprivate struct Transaction {
    /// The ATT_MTU at the request, in octets.
    var mtu: Int
    /// Whether the operation is a read that the first bearer repeats if its value does not fit.
    var isTrial: Bool
  }

  private enum SetUp { case notStarted, readingServer, readingClient, writing, done }

  /// Whether bearers may be opened, by the peer at least.
  var isEnabled = false
  /// The bearers that our central requests.
  var wanted = 0
  private var setUp = SetUp.notStarted
  private var mayRepeat = true
  private var bearers: [ChannelID: Bearer] = [:]
  /// The operations on the first bearer that have not ended, with their attributes; nil: several, or a command.
  private var first: [GATTClient.OperationID: AttributeHandle?] = [:]
  /// A command that waits for the operations of other bearers, and what was requested after it.
  private var behind = WaitingOperations()

  var isEmpty: Bool { bearers.isEmpty }
  var deadline: Instant? { bearers.isEmpty ? nil : bearers.values.compactMap { $0.gatt.deadline }.min() }

  mutating func add(_ channel: ChannelID, mtu: Int) {
    var bearer = Bearer()
    bearer.gatt.mtu = mtu
    bearers[channel] = bearer
  }

  mutating func setMTU(_ mtu: Int, of channel: ChannelID) { bearers[channel]?.gatt.mtu = mtu }

  /// Performs an operation on the bearer that suits it.
  mutating func perform(
    _ operation: GATTClient.Operation, _ gatt: inout GATTClient, now: Instant, into output: inout LinkClient.Output
  ) {
    guard !behind.isEmpty || waits(operation) else { return begin(operation, &gatt, now: now, into: &output) }
    let limit = GATTClient.Limits().waitingOctets
    guard behind.octets + operation.waitingOctets <= limit else {
      return output.gatt.events.append(.finished(operation.id, .failure(.tooManyOperations(limit: limit))))
    }
    behind.append(operation)
  }

  /// Whether a command has to wait for operations of other bearers than the first one.
  private func waits(_ operation: GATTClient.Operation) -> Bool {
    operation.kind.isCommand && bearers.values.contains { !$0.operations.isEmpty }
  }

  private mutating func performWaiting(
    _ gatt: inout GATTClient, now: Instant, into output: inout LinkClient.Output
  ) {
    while let next = behind.first, !waits(next) {
      behind.removeFirst()
      begin(next, &gatt, now: now, into: &output)
    }
  }

  /// Continues on each bearer after operations were refused because the link lacks security.
  ///
  /// - Parameter repeated: those that are performed again, on the first bearer.
  mutating func proceed(
    behind repeated: [GATTClient.Operation], _ gatt: inout GATTClient, now: Instant,
    into output: inout LinkClient.Output
  ) {
    if isEnabled { for operation in repeated { first[operation.id] = .some(operation.kind.attribute) } }
    for channel in bearers.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      use(channel, &gatt, now: now, into: &output) { _, _ in }
    }
    performWaiting(&gatt, now: now, into: &output)
  }

  private mutating func begin(
    _ operation: GATTClient.Operation, _ gatt: inout GATTClient, now: Instant, into output: inout LinkClient.Output
  ) {
    if let channel = channel(for: operation.kind, mtu: gatt.mtu) {
      use(channel, &gatt, now: now, into: &output) { $0.append(operation, &$1) }
    } else {
      performOnFirst(operation, &gatt, now: now, into: &output)
    }
  }

  private mutating func performOnFirst(
    _ operation: GATTClient.Operation, _ gatt: inout GATTClient, now: Instant, into output: inout LinkClient.Output
  ) {
    if isEnabled { first[operation.id] = .some(operation.kind.isCommand ? nil : operation.kind.attribute) }
    gatt.perform(operation, now: now, into: &output.gatt)
  }

  /// - Returns: nil for the first bearer.
  private func channel(for kind: GATTClient.Operation.Kind, mtu: Int) -> ChannelID? {
    guard !bearers.isEmpty, !kind.isCommand, let attribute = kind.attribute else { return nil }
    let isFirstInOrder = first.values.contains { $0 == nil || $0 == attribute }
    guard !isFirstInOrder else { return nil }
    let same = bearers.first { $0.value.operations.contains { $0.kind.attribute == attribute } }
    if let same { return same.key }
    let free = bearers.filter { $0.value.gatt.mtu >= mtu || kind.mayFit($0.value.gatt.mtu) }.min {
      ($0.value.operations.count, -min($0.value.gatt.mtu, mtu), $0.key.rawValue)
        < ($1.value.operations.count, -min($1.value.gatt.mtu, mtu), $1.key.rawValue)
    }
    return free.flatMap { $0.value.operations.count < first.count ? $0.key : nil }
  }

  /// An operation has ended, on any bearer.
  mutating func finished(_ id: GATTClient.OperationID) { first[id] = nil }

  /// Takes a PDU of the server. A value may come on any bearer; an indication is confirmed on its own.
  mutating func receive(
    _ pdu: Span<UInt8>, on channel: ChannelID, _ gatt: inout GATTClient, now: Instant,
    into output: inout LinkClient.Output
  ) {
    guard !pdu.isEmpty, let mtu = bearers[channel]?.gatt.mtu else { return }
    switch ATTOpcode(rawValue: pdu[0]) {
    case .handleValueNotification, .handleValueIndication, .multipleHandleValueNotification:
      var own = GATTClient.Output()
      let firstMTU = gatt.mtu
      gatt.mtu = max(firstMTU, mtu)
      gatt.receive(pdu, now: now, into: &own)
      gatt.mtu = firstMTU
      own.pdus.forEach {
        if $0[0] == ATTOpcode.handleValueConfirmation.rawValue {
          output.frames.append(BearerFrame(channel: channel, pdu: [UInt8](copying: $0)))
        } else {
          let octets = [UInt8](copying: $0)
          output.gatt.pdus.append { $0 += octets }
        }
      }
      output.gatt.events += own.events
    default:
      let octets = [UInt8](copying: pdu)
      use(channel, &gatt, now: now, into: &output) { $0.gatt.receive(octets.span, now: now, into: &$1) }
      performWaiting(&gatt, now: now, into: &output)
    }
  }

  mutating func tick(_ gatt: inout GATTClient, now: Instant, into output: inout LinkClient.Output) {
    for channel in bearers.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      use(channel, &gatt, now: now, into: &output) { $0.gatt.tick(now: now, into: &$1) }
    }
    performWaiting(&gatt, now: now, into: &output)
  }

  /// Gives one bearer an input, and begins its next operations.
  private mutating func use(
    _ channel: ChannelID, _ gatt: inout GATTClient, now: Instant, into output: inout LinkClient.Output,
    _ body: (inout Bearer, inout GATTClient.Output) -> Void
  ) {
    guard var bearer = bearers.removeValue(forKey: channel) else { return }
    var own = GATTClient.Output()
    body(&bearer, &own)
    if bearer.gatt.isHeld {
      // The first bearer holds the operations of all.
      gatt.hold()
      bearer.gatt.release(now: now, into: &own)
    }
    take(&own.events, from: channel, &bearer, &gatt, now: now, into: &output)
    // One that ends at once lets the next one begin.
    while !gatt.isHeld, bearer.current == nil, let next = bearer.operations.first {
      if bearer.gatt.mtu < gatt.mtu, !next.kind.mayFit(bearer.gatt.mtu) {
        move(bearer.takeOperations(of: next), &gatt, now: now, into: &output)
      } else {
        bearer.gatt.changed = gatt.changed
        bearer.begin(next, isTrial: next.kind.isRead && bearer.gatt.mtu < gatt.mtu, now: now, into: &own)
      }
      take(&own.events, from: channel, &bearer, &gatt, now: now, into: &output)
    }
    own.pdus.forEach { output.frames.append(BearerFrame(channel: channel, pdu: [UInt8](copying: $0))) }
    bearers[channel] = bearer
  }

  private mutating func take(
    _ events: inout [GATTClient.Event], from channel: ChannelID, _ bearer: inout Bearer, _ gatt: inout GATTClient,
    now: Instant, into output: inout LinkClient.Output
  ) {
    for event in events {
      switch event {
      case .finished(let id, let result):
        guard bearer.end(id, result) else {
          if let cut = bearer.operations.first {
            move(bearer.takeOperations(of: cut), &gatt, now: now, into: &output)
          }
          continue
        }
      case .servicesChanged(let range):
        gatt.databaseChanged(range, into: &output.gatt)
        continue
      case .bearerFailed:
        // The bearer ends alone; the operations have failed already, or fail when they begin.
        output.effects.append(.own(.bearer(.close(channel, "an ATT request had no answer in 30 seconds"))))
        continue
      // As on the unenhanced bearer.
      case .notification, .indication, .mtu, .violation: break
      }
      output.gatt.events.append(event)
    }
    events = []
  }

  /// The first bearer has a change of the server's database: operations on these attributes end.
  mutating func servicesChanged(
    _ range: ClosedRange<AttributeHandle>, _ gatt: inout GATTClient, now: Instant, into output: inout LinkClient.Output
  ) {
    for channel in bearers.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      use(channel, &gatt, now: now, into: &output) { bearer, output in
        bearer.gatt.databaseChanged(range, into: &output)
        // The first bearer has reported it.
        output.events.removeAll { if case .servicesChanged = $0 { true } else { false } }
        for operation in bearer.operations.dropFirst(bearer.current == nil ? 0 : 1) {
          guard let attribute = operation.kind.attribute, range.contains(attribute) else { continue }
          output.events.append(.finished(operation.id, .failure(.servicesChanged)))
        }
        bearer.forgetWaiting(in: range)
      }
    }
    performWaiting(&gatt, now: now, into: &output)
  }

  private mutating func move(
    _ operations: [GATTClient.Operation], _ gatt: inout GATTClient, now: Instant, into output: inout LinkClient.Output
  ) {
    for operation in operations { performOnFirst(operation, &gatt, now: now, into: &output) }
  }

  /// A bearer is closed. Operations that were not sent, and a read that was, are repeated on the first bearer. A write
  /// that was sent may have been executed, and fails.
  mutating func closed(
    _ channel: ChannelID, _ gatt: inout GATTClient, now: Instant, into output: inout LinkClient.Output
  ) {
    guard let bearer = bearers.removeValue(forKey: channel) else { return }
    for (place, operation) in bearer.operations.enumerated() {
      if place == 0, !operation.kind.isRead {
        output.gatt.events.append(.finished(operation.id, .failure(.bearerClosed)))
      } else {
        performOnFirst(operation, &gatt, now: now, into: &output)
      }
    }
    performWaiting(&gatt, now: now, into: &output)
  }

  /// The link has ended, and with it every bearer.
  mutating func linkEnded(into output: inout LinkClient.Output) {
    for channel in bearers.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      for operation in bearers[channel]?.operations ?? [] {
        output.gatt.events.append(.finished(operation.id, .failure(.linkEnded)))
      }
    }
    for operation in behind.removeAll() {
      output.gatt.events.append(.finished(operation.id, .failure(.linkEnded)))
    }
    bearers = [:]
  }
}

/// The queue of one bearer. ``/BLEGATT/GATTClient`` gets one operation at a time, so that those behind a read that
/// moves to the first bearer can move with it.
extension ClientBearers.Bearer {
  mutating func append(_ operation: GATTClient.Operation, _ output: inout GATTClient.Output) {
    let limit = GATTClient.Limits().waitingOctets
    guard operations.dropFirst().reduce(operation.waitingOctets, { $0 + $1.waitingOctets }) <= limit else {
      return output.events.append(.finished(operation.id, .failure(.tooManyOperations(limit: limit))))
    }
    operations.append(operation)
  }

  /// Begins the first operation.
  mutating func begin(
    _ operation: GATTClient.Operation, isTrial: Bool, now: Instant, into output: inout GATTClient.Output
  ) {
    var operation = operation
    if isTrial, let attribute = operation.kind.attribute { operation.kind = .read(attribute) }
    current = ClientBearers.Transaction(mtu: gatt.mtu, isTrial: isTrial)
    gatt.perform(operation, now: now, into: &output)
  }

  /// Takes the end of an operation.
  ///
  /// - Returns: whether it counts; the end of a read on trial whose value may have been cut does not.
  mutating func end(_ id: GATTClient.OperationID, _ result: Result<GATTClient.Outcome, GATTClientError>) -> Bool {
    guard let transaction = current, operations.first?.id == id else { return true }
    current = nil
    if transaction.isTrial, case .success(.value(let value)) = result, value.count >= transaction.mtu - 1 {
      return false
    }
    operations.removeFirst()
    return true
  }

  /// Removes the operations on attributes in a range that have not begun.
  mutating func forgetWaiting(in range: ClosedRange<AttributeHandle>) {
    let begun = current == nil ? 0 : 1
    let rest = operations.dropFirst(begun).filter { $0.kind.attribute.map { !range.contains($0) } ?? true }
    operations = operations.prefix(begun) + rest
  }

  /// Takes an operation, and those for the same attribute, out of the queue, in order.
  mutating func takeOperations(of operation: GATTClient.Operation) -> [GATTClient.Operation] {
    let attribute = operation.kind.attribute
    defer { operations.removeAll { $0.kind.attribute == attribute } }
    return operations.filter { $0.kind.attribute == attribute }
  }
}

/// The set-up of bearers by our central.
extension ClientBearers {
  /// The link is encrypted: the server is asked, once.
  mutating func linkEncrypted(_ gatt: inout GATTClient, now: Instant, into output: inout LinkClient.Output) {
    guard wanted > 0, setUp == .notStarted else { return }
    setUp = .readingServer
    ask(.readUsingUUID(.serverSupportedFeatures, .first ... .last), &gatt, now: now, into: &output)
  }

  private func ask(
    _ kind: GATTClient.Operation.Kind, _ gatt: inout GATTClient, now: Instant, into output: inout LinkClient.Output
  ) {
    gatt.perform(GATTClient.Operation(id: .bearers, kind), now: now, into: &output.gatt)
  }

  /// Takes the end of an operation of the set-up.
  mutating func answered(
    _ result: Result<GATTClient.Outcome, GATTClientError>, _ gatt: inout GATTClient, now: Instant,
    into output: inout LinkClient.Output
  ) {
    switch (setUp, result.map({ $0.found })) {
    case (.readingServer, .success(.values(let values))):
      guard let features = values.first?.value.first, features & 0x01 != 0 else { return setUp = .done }
      setUp = .readingClient
      ask(.readUsingUUID(.clientSupportedFeatures, .first ... .last), &gatt, now: now, into: &output)
    case (.readingClient, .success(.values(let values))):
      guard let features = values.first else { return setUp = .done }
      // A bit that is set stays set; octets that are missing are zero (Vol 3, Part G, 7.2).
      var value = features.value.isEmpty ? [0] : features.value
      value[0] |= ClientSupportedFeatures.enhancedATTBearer.rawValue
      setUp = .writing
      ask(.write(features.handle, value), &gatt, now: now, into: &output)
    case (.writing, .failure(.errorResponse)) where mayRepeat:
      // The cache has set its bit in between.
      (mayRepeat, setUp) = (false, .readingClient)
      ask(.readUsingUUID(.clientSupportedFeatures, .first ... .last), &gatt, now: now, into: &output)
    case (.writing, .success):
      setUp = .done
      output.effects.append(.own(.bearer(.open(wanted))))
    default: setUp = .done  // Enhanced bearers are not wanted, or not possible.
    }
  }
}

extension GATTClient.Operation.Kind {
  /// The attribute of an operation on one attribute; nil for others.
  fileprivate var attribute: AttributeHandle? {
    switch self {
    case .read(let handle), .readLong(let handle), .write(let handle, _), .writeLong(let handle, _, _),
      .writeWithoutResponse(let handle, _):
      handle
    default: nil  // The others name ranges, several attributes or none.
    }
  }

  /// Whether an operation on one attribute is one PDU on a bearer with this ATT_MTU, or a read that may be.
  fileprivate func mayFit(_ mtu: Int) -> Bool {
    switch self {
    case .write(_, let value), .writeWithoutResponse(_, let value): value.count <= mtu - 3
    default: isRead  // Others need several PDUs, or name no attribute.
    }
  }

  fileprivate var isRead: Bool {
    switch self {
    case .read, .readLong: true
    default: false  // The others read several attributes, or none.
    }
  }
}
