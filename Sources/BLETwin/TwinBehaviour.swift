import BLEATT
import BLEHCI
import BLEL2CAP
import BLESMP
import BLETrace
import BLEWire

/// What a device has done on its links: its answers, and what it has sent after what.
///
/// | seen | taken for |
/// |---|---|
/// | a value that is read, and differs from what was expected after a write | the effect of the last write |
/// | … without a write since it was read before | the next of its successive values |
/// | a notification | part of what follows the subscription, if that has sent a value before any write |
/// | … otherwise | part of what follows the last write; without one, of what follows the subscription |
/// | a Security Request, or one of connection parameters | part of what follows a write of the last second |
/// | … otherwise | what the device does on each link |
struct TwinBehaviour {
  typealias Description = ServiceDescription

  /// What was seen of one value.
  struct Value {
    /// The successive answers to reads from the start.
    var reads: [Description.ReadAnswer] = []
    var writes: [Description.Write] = []
    var subscriptions: [[Description.Update]] = []
    /// The security that was demanded, for these procedures, by this error.
    var security = Description.Security.none
    var secures: Set<Description.Access> = []
    var refusal: ATTErrorCode?
    /// The value that a write has left, and the place of the write; nil before one.
    fileprivate var stored: (value: [UInt8], index: Int)?
    /// The places of writes that were refused because of the security of the link: they are none.
    fileprivate var withdrawn: Set<Int> = []
    /// The write whose effect the answers to reads are; nil for those from the start.
    fileprivate var source: Trigger?
    /// When it was read or written last.
    fileprivate var used: Int64 = .min
    /// Whether the answer that was added last is the beginning of a long value.
    fileprivate var hasLongAnswer = false
    /// Answers of the length of the MTU less one: beginnings of long values, if they were not read on.
    fileprivate var beginnings: Set<[UInt8]> = []
  }

  /// A write that something followed.
  fileprivate struct Trigger: Equatable {
    var handle: AttributeHandle
    /// Its place in ``Value/writes``.
    var index: Int
    var time: Int64
  }

  /// By the handles of values and of descriptors.
  private(set) var values: [AttributeHandle: Value] = [:]
  private(set) var mtu: UInt16?
  private(set) var connection: Description.Connection?
  private(set) var pairing: Description.Pairing?
  private(set) var hasPaired = false
  /// What a copy does not repeat, in plain words.
  private(set) var leftOut: [String] = []

  /// The values of the Client Characteristic Configuration descriptors, by the handles of these.
  private let configurations: [AttributeHandle: AttributeHandle]
  private let known: Set<AttributeHandle>
  /// Whether the last pairing was one without a user.
  private var isJustWorks = false
  private let client: HCIPacketDirection

  init(of device: SeenDevice, in sessions: [TwinRecorder.Session]) {
    client = device.isThisHost ? .controllerToHost : .hostToController
    var configurations: [AttributeHandle: AttributeHandle] = [:]
    var known: Set<AttributeHandle> = []
    for characteristic in device.services.flatMap(\.characteristics) {
      guard let handle = characteristic.handle else { continue }
      known.insert(handle)
      let places = zip(characteristic.descriptors, characteristic.descriptorHandles)
      known.formUnion(characteristic.descriptorHandles)
      for (descriptor, place) in places where descriptor.uuid == "2902" { configurations[place] = handle }
    }
    (self.configurations, self.known) = (configurations, known)
    add(sessions)
    complete()
    for handle in Array(values.keys) { values[handle]?.shorten() }
  }

  /// The beginnings of long values that are completed for one attribute.
  static let beginningLimit = 64

  /// Completes answers that may be the beginning of a long value, which a client has not read to its end, by a value of
  /// the same attribute that begins with them.
  private mutating func complete() {
    var whole: [UInt16: [[UInt8]: Description.ReadAnswer]] = [:]
    for (handle, value) in values where !value.beginnings.isEmpty {
      let all = value.reads + value.writes.map { .value($0.value) }
      for beginning in value.beginnings {
        let longer = all.filter { $0.isLonger(than: beginning) }
        whole[handle.rawValue, default: [:]][beginning] = longer.max { $0.count <= $1.count }
      }
    }
    func completed(_ answers: [Description.ReadAnswer], of handle: UInt16) -> [Description.ReadAnswer] {
      guard let known = whole[handle] else { return answers }
      return answers.map { answer in
        if case .value(let octets) = answer { known[octets] ?? answer } else { answer }
      }
    }
    for handle in Array(values.keys) {
      change(handle) { value in
        value.reads = completed(value.reads, of: handle.rawValue)
        for write in value.writes.indices {
          for place in value.writes[write].reads.indices {
            let read = value.writes[write].reads[place]
            value.writes[write].reads[place].values = completed(read.values, of: read.handle)
          }
        }
      }
    }
  }

  /// The state while the packets of one link are read.
  private struct Progress {
    var start: Int64
    /// The time that the fastest answer of the link has taken, of which the way over the link is the greater part.
    var travel: Int64
    var mtu = ATT.defaultMTU
    var request: (pdu: ATTPDU, time: Int64)?
    var prepared: [AttributeHandle: [UInt8]] = [:]
    /// The last write.
    var trigger: Trigger?
    /// The write that the request without an answer contains.
    var pending: Trigger?
    var initiator: PairingFeatures?
    var subscriptions: [AttributeHandle: Subscription] = [:]
    /// When the link was encrypted, or came up.
    var secured: Int64
    var isEncrypted = false
    /// The value that was read last, of which parts may follow.
    var long: (handle: AttributeHandle, count: Int)?

    func delay(from start: Int64, to time: Int64) -> UInt32 {
      UInt32(clamping: min(max(0, (time &- start) / 1_000), Int64(Description.maximumDelay)))
    }
  }

  /// A subscription in force.
  private struct Subscription {
    /// Its place in ``Value/subscriptions``.
    var index: Int
    var start: Int64
    /// Whether it has sent a value before any write.
    var isStream = false
  }

  /// Adds the packets of all links in the order of the trace: links of several clients share the values.
  private mutating func add(_ sessions: [TwinRecorder.Session]) {
    var progress = sessions.map { session in
      let first = session.start ?? session.packets.first?.time ?? 0
      return Progress(start: first, travel: travel(in: session.packets), secured: first)
    }
    let places = sessions.indices.flatMap { session in sessions[session].packets.indices.map { (session, $0) } }
    let ordered = places.sorted { sessions[$0.0].packets[$0.1].number < sessions[$1.0].packets[$1.1].number }
    for (session, place) in ordered { add(sessions[session].packets[place], of: sessions[session], &progress[session]) }
  }

  private mutating func add(
    _ packet: TwinRecorder.Packet, of session: TwinRecorder.Session, _ progress: inout Progress
  ) {
    switch packet.content {
    case .attribute(let pdu):
      // The other PDUs are those of the other server of the link.
      guard pdu.client(sentAs: packet.direction) == client else { return }
      packet.direction == client ? request(pdu, packet.time, &progress) : answer(pdu, packet.time, &progress)
    case .security(let pdu): add(pdu, packet, &progress)
    case .signalling(let pdu):
      guard case .connectionParameterUpdateRequest(let request) = pdu.command else { return }
      add(request, packet, progress)
    case .parameters(let request): add(request, packet, progress)
    case .encrypted: (progress.secured, progress.isEncrypted) = (packet.time, true)
    case .disconnected(let isByPeer):
      let isByDevice = client == .hostToController ? isByPeer : session.isEndedByHost
      guard isByDevice, let trigger = progress.trigger else { return }
      let delay = progress.delay(from: trigger.time &+ progress.travel, to: packet.time)
      change(trigger) { $0.updates.append(Description.Update(delay: delay, disconnects: true)) }
    }
  }

  /// A request of the device within this time after a write, in microseconds, follows the write.
  private static let requestTime: Int64 = 1_000_000

  /// The last write, if a request of the device follows it, and the time since.
  private func cause(
    of packet: TwinRecorder.Packet, _ progress: Progress
  ) -> (trigger: Trigger, delay: UInt32)? {
    guard let trigger = progress.trigger else { return nil }
    let (time, isOverflow) = packet.time.subtractingReportingOverflow(trigger.time)
    guard !isOverflow, (0...Self.requestTime).contains(time) else { return nil }
    return (trigger, progress.delay(from: trigger.time &+ progress.travel, to: packet.time))
  }

  private mutating func add(
    _ request: ConnectionParameterUpdateRequest, _ packet: TwinRecorder.Packet, _ progress: Progress
  ) {
    guard packet.direction != client else { return }
    let delay = progress.delay(from: progress.start, to: packet.time)
    guard var requested = Description.Connection(request, delay: delay) else {
      return leaveOut("a request of connection parameters that are not allowed")
    }
    if let (trigger, delay) = cause(of: packet, progress) {
      requested.delay = 0
      change(trigger) { $0.updates.append(Description.Update(delay: delay, connection: requested)) }
    } else {
      connection = connection ?? requested
    }
  }

  private func travel(in packets: [TwinRecorder.Packet]) -> Int64 {
    var (sent, shortest): (Int64?, Int64) = (nil, .max)
    for packet in packets {
      guard case .attribute(let pdu) = packet.content else { continue }
      switch pdu.type {
      case .request: if packet.direction == client { sent = packet.time }
      case .response:
        if packet.direction != client, let start = sent, packet.time >= start {
          shortest = min(shortest, packet.time &- start)
          sent = nil
        }
      case .command, .notification, .indication, .confirmation: break
      }
    }
    return shortest == .max ? 0 : shortest
  }

  private mutating func leaveOut(_ text: String) {
    if !leftOut.contains(text) { leftOut.append(text) }
  }

  // MARK: - Security

  private mutating func add(_ pdu: SMPPDU, _ packet: TwinRecorder.Packet, _ progress: inout Progress) {
    switch pdu {
    case .pairingRequest(let request) where packet.direction == client: progress.initiator = request.features
    case .pairingResponse(let response) where packet.direction != client:
      hasPaired = true
      let features = response.features
      var pairing = pairing ?? Description.Pairing()
      pairing.capability = Description.Pairing.Capability(features.ioCapability)
      pairing.isBonding = features.authReq.contains(.bonding)
      pairing.hasSecureConnections = features.authReq.contains(.secureConnections)
      self.pairing = pairing
      if let request = progress.initiator {
        isJustWorks = AssociationModel.chosen(request: request, response: features).model == .justWorks
      }
    case .pairingFailed(let failure) where packet.direction != client && failure.reason == .pairingNotSupported:
      var pairing = pairing ?? Description.Pairing()
      pairing.isEnabled = false
      self.pairing = pairing
    case .securityRequest where packet.direction != client:
      if let (trigger, delay) = cause(of: packet, progress) {
        return change(trigger) { $0.updates.append(Description.Update(delay: delay, requestsSecurity: true)) }
      }
      var pairing = pairing ?? Description.Pairing()
      pairing.requestDelay = pairing.requestDelay ?? progress.delay(from: progress.start, to: packet.time)
      self.pairing = pairing
    default: break  // The others follow from the features.
    }
  }

  /// A procedure has succeeded: a demand of an authenticated key is one of encryption, if the key is not authenticated.
  private mutating func succeeded(_ handle: AttributeHandle, _ progress: Progress) {
    guard progress.isEncrypted, isJustWorks, values[handle]?.security == .authenticated else { return }
    values[handle]?.security = .encrypted
  }

  private mutating func refused(_ handle: AttributeHandle, _ access: Description.Access, _ code: ATTErrorCode) -> Bool {
    let security: Description.Security
    switch code {
    case .insufficientAuthentication: security = .authenticated
    case .insufficientEncryption, .insufficientEncryptionKeySize: security = .encrypted
    default: return false
    }
    change(handle) { value in
      if value.security == .none { (value.security, value.refusal) = (security, code) }
      value.secures.insert(access)
    }
    return true
  }

  // MARK: - Attributes

  /// Changes what was seen of an attribute that the discovery has shown.
  private mutating func change(_ handle: AttributeHandle, _ body: (inout Value) -> Void) {
    guard known.contains(handle) else { return }
    body(&values[handle, default: Value()])
  }

  /// Changes a write. No write is removed before the end, so that its place stays that of all links.
  private mutating func change(_ trigger: Trigger, _ body: (inout Description.Write) -> Void) {
    change(trigger.handle) { body(&$0.writes[trigger.index]) }
  }

  private mutating func request(_ pdu: ATTPDU, _ time: Int64, _ progress: inout Progress) {
    if pdu.type == .request { (progress.request, progress.pending) = ((pdu, time), nil) }
    switch pdu {
    case .readBlobRequest, .handleValueConfirmation: break
    case .writeCommand(let packet):
      progress.long = nil
      wrote(Array(packet.value), to: packet.handle, time, &progress)
    case .prepareWriteRequest(let packet):
      let written = progress.prepared[packet.handle] ?? []
      guard written.count == Int(packet.valueOffset),
        written.count + packet.partAttributeValue.count <= ATT.maximumValueLength
      else { return }
      progress.prepared[packet.handle] = written + packet.partAttributeValue
    case .writeRequest(let packet):
      // What is sent before the answer belongs to the write.
      guard configurations[packet.handle] == nil else { return }
      progress.pending = wrote(Array(packet.value), to: packet.handle, time, &progress)
    case .executeWriteRequest(let packet) where packet.flags != .cancel:
      for (handle, value) in progress.prepared.sorted(by: { $0.key < $1.key }) {
        progress.pending = wrote(value, to: handle, time, &progress)
      }
    default: progress.long = nil
    }
  }

  /// A value is written, of which the answer may follow.
  ///
  /// - Returns: the write; nil if it is none of a value that is known.
  @discardableResult
  private mutating func wrote(
    _ octets: [UInt8], to handle: AttributeHandle, _ time: Int64, _ progress: inout Progress
  ) -> Trigger? {
    guard known.contains(handle), configurations[handle] == nil, octets.count <= ATT.maximumValueLength else {
      return nil
    }
    let trigger = Trigger(handle: handle, index: values[handle]?.writes.count ?? 0, time: time)
    change(handle) { value in
      value.writes.append(Description.Write(value: octets))
      (value.stored, value.used, value.source) = ((octets, trigger.index), time, nil)
    }
    progress.trigger = trigger
    return trigger
  }

  private mutating func answer(_ pdu: ATTPDU, _ time: Int64, _ progress: inout Progress) {
    switch pdu {
    case .handleValueNotification(let packet): return sent(Array(packet.value), of: packet.handle, time, &progress)
    case .handleValueIndication(let packet): return sent(Array(packet.value), of: packet.handle, time, &progress)
    case .multipleHandleValueNotification(let packet):
      for tuple in packet.tuples { sent(Array(tuple.value), of: tuple.handle, time, &progress) }
      return
    default: break  // The others answer a request.
    }
    guard let (request, start) = progress.request else { return }
    progress.request = nil
    switch (request, pdu) {
    case (.exchangeMTURequest(let request), .exchangeMTUResponse(let response)):
      let limits = UInt16(ATT.defaultMTU)...UInt16(ATT.maximumMTU)
      if !limits.contains(response.serverRxMTU) { leaveOut("the MTU \(response.serverRxMTU)") }
      mtu = mtu ?? min(max(response.serverRxMTU, limits.lowerBound), limits.upperBound)
      progress.mtu = max(ATT.defaultMTU, min(Int(request.clientRxMTU), Int(response.serverRxMTU)))
    case (.readRequest(let request), .readResponse(let response)):
      let octets = Array(response.value.prefix(ATT.maximumValueLength))
      read(.value(octets), of: request.handle, time, &progress)
      progress.long = octets.count == progress.mtu - 1 ? (request.handle, octets.count) : nil
      if progress.long != nil, known.contains(request.handle) {
        change(request.handle) { if $0.beginnings.count < Self.beginningLimit { $0.beginnings.insert(octets) } }
      }
    case (.readBlobRequest(let request), .readBlobResponse(let response)):
      guard let long = progress.long, long.handle == request.handle, long.count == Int(request.valueOffset) else {
        return
      }
      let part = Array(response.partAttributeValue)
      guard long.count + part.count <= ATT.maximumValueLength else { return }
      change(long.handle) { $0.extend(by: part) }
      if let source = values[long.handle]?.source { extend(source, by: part, of: long.handle) }
      progress.long = (long.handle, long.count + part.count)
    case (.readByTypeRequest, .readByTypeResponse(let response)):
      for attribute in response.attributeDataList where known.contains(attribute.handle) {
        // A response has no room for the rest of a long value.
        guard configurations[attribute.handle] == nil, attribute.value.count < min(progress.mtu - 4, 253) else {
          continue
        }
        read(.value(Array(attribute.value)), of: attribute.handle, time, &progress)
      }
    case (.writeRequest(let request), .writeResponse):
      if let handle = configurations[request.handle] {
        subscribed(handle, isOn: request.value.contains { $0 != 0 }, time, &progress)
      } else {
        answered(nil, from: start, to: time, &progress)
      }
      succeeded(configurations[request.handle] ?? request.handle, progress)
    case (.executeWriteRequest, .executeWriteResponse):
      answered(nil, from: start, to: time, &progress)
      progress.prepared = [:]
    case (_, .errorResponse(let error)): refused(request, error, from: start, to: time, &progress)
    default: break  // A discovery, or an answer to something else.
    }
  }

  private mutating func refused(
    _ request: ATTPDU, _ error: ErrorResponse, from start: Int64, to time: Int64, _ progress: inout Progress
  ) {
    switch request {
    case .readRequest(let request):
      if refused(request.handle, .read, error.code) { return }
      // 0x00 is no error.
      read(.error(max(1, error.code.rawValue)), of: request.handle, time, &progress)
    case .readBlobRequest(let request):
      if refused(request.handle, .read, error.code) { return }
      leaveOut("the answer \(error.code) to a Read Blob Request of \(request.handle)")
    case .writeRequest(let request):
      if let handle = configurations[request.handle] {
        if !refused(handle, .subscribe, error.code) {
          leaveOut("the answer \(error.code) to a subscription to \(handle)")
        }
      } else if refused(request.handle, .write, error.code) {
        withdrawWrite(&progress)
      } else {
        answered(error.code, from: start, to: time, &progress)
      }
    case .prepareWriteRequest(let request):
      progress.prepared[request.handle] = nil
      _ = refused(request.handle, .write, error.code)
    case .executeWriteRequest:
      progress.prepared = [:]
      answered(error.code, from: start, to: time, &progress)
    default: break  // Attribute Not Found ends a discovery.
    }
  }

  /// A write that is refused because of the security of the link is none.
  private mutating func withdrawWrite(_ progress: inout Progress) {
    guard let pending = progress.pending else { return }
    if progress.trigger == pending { progress.trigger = nil }
    change(pending.handle) { value in
      value.withdrawn.insert(pending.index)
      if value.stored?.index == pending.index { value.stored = nil }
    }
  }

  /// The request that contains a write is answered.
  private mutating func answered(
    _ code: ATTErrorCode?, from start: Int64, to time: Int64, _ progress: inout Progress
  ) {
    guard let pending = progress.pending else { return }
    let (travel, delay) = (progress.travel, progress.delay(from: start &+ progress.travel, to: time))
    change(pending) { write in
      write.error = code.map { max(1, $0.rawValue) }
      // An answer that takes no more than twice the time of the fastest one is not late.
      if Int64(delay) * 1_000 > max(travel, 10_000) { write.delay = delay }
    }
    guard code != nil else { return }
    change(pending.handle) { if $0.stored?.index == pending.index { $0.stored = nil } }
  }

  private mutating func read(
    _ answer: Description.ReadAnswer, of handle: AttributeHandle, _ time: Int64, _ progress: inout Progress
  ) {
    guard known.contains(handle) else { return }
    succeeded(handle, progress)
    let seen = values[handle] ?? Value()
    defer { change(handle) { $0.used = time } }
    if let stored = seen.stored, seen.source == nil, answer.isBeginning(of: stored.value, progress.mtu) {
      return change(handle) { $0.hasLongAnswer = false }
    }
    let expected = seen.source.flatMap { expectation($0, of: handle) } ?? (seen.stored == nil ? seen.reads.last : nil)
    let isAsExpected = expected.map { $0.starts(with: answer, progress.mtu) } ?? false
    if let trigger = progress.trigger, trigger.time >= seen.used, !isAsExpected,
      seen.stored != nil || !seen.reads.isEmpty
    {
      return follow(trigger, handle, answer)
    }
    if let source = seen.source, let place = place(of: handle, in: source) {
      change(source) { $0.reads[place].values.append(answer) }
      return change(handle) { $0.hasLongAnswer = true }
    }
    // The device has changed the value that was written.
    if let stored = seen.stored {
      return follow(Trigger(handle: handle, index: stored.index, time: time), handle, answer)
    }
    change(handle) { value in
      value.reads.append(answer)
      value.hasLongAnswer = true
    }
  }

  /// The answers to reads of a value are the effect of a write from now on.
  private mutating func follow(_ trigger: Trigger, _ handle: AttributeHandle, _ answer: Description.ReadAnswer) {
    change(trigger) { $0.reads.append(Description.Write.Values(handle: handle.rawValue, values: [answer])) }
    change(handle) { ($0.source, $0.stored, $0.hasLongAnswer) = (trigger, nil, true) }
  }

  private func place(of handle: AttributeHandle, in trigger: Trigger) -> Int? {
    values[trigger.handle]?.writes[trigger.index].reads.lastIndex { $0.handle == handle.rawValue }
  }

  private func expectation(_ trigger: Trigger, of handle: AttributeHandle) -> Description.ReadAnswer? {
    place(of: handle, in: trigger).flatMap { values[trigger.handle]?.writes[trigger.index].reads[$0].values.last }
  }

  /// Adds a part to the value that was read last as the effect of a write.
  private mutating func extend(_ trigger: Trigger, by part: [UInt8], of handle: AttributeHandle) {
    guard values[handle]?.hasLongAnswer == true, let place = place(of: handle, in: trigger),
      let last = values[trigger.handle]?.writes[trigger.index].reads[place].values.indices.last
    else { return }
    change(trigger) { $0.reads[place].values[last].extend(by: part) }
  }

  // MARK: - Subscriptions

  private mutating func subscribed(_ handle: AttributeHandle, isOn: Bool, _ time: Int64, _ progress: inout Progress) {
    guard isOn else {
      progress.subscriptions[handle] = nil
      return
    }
    guard progress.subscriptions[handle] == nil else { return }
    change(handle) { $0.subscriptions.append([]) }
    progress.subscriptions[handle] = Subscription(
      index: (values[handle]?.subscriptions.count ?? 1) - 1, start: time)
  }

  private mutating func sent(_ octets: [UInt8], of handle: AttributeHandle, _ time: Int64, _ progress: inout Progress) {
    guard known.contains(handle) else { return }
    let octets = Array(octets.prefix(ATT.maximumValueLength))
    // A bonded client is subscribed since an earlier link, and the trace may begin later.
    if progress.subscriptions[handle] == nil, progress.trigger == nil {
      subscribed(handle, isOn: true, progress.secured, &progress)
    }
    let subscription = progress.subscriptions[handle]
    let trigger = progress.trigger
    let belongsToSubscription =
      subscription.map { $0.isStream || trigger == nil || trigger.map { $0.time < subscription?.start ?? 0 } == true }
    if belongsToSubscription == true, let subscription {
      let delay = progress.delay(from: subscription.start, to: time)
      progress.subscriptions[handle]?.isStream = true
      change(handle) { $0.subscriptions[subscription.index].append(Description.Update(delay: delay, value: octets)) }
    } else if let trigger {
      let isPending = progress.request != nil && progress.pending == trigger
      let update = Description.Update(
        delay: progress.delay(from: trigger.time &+ progress.travel, to: time),
        handle: handle == trigger.handle ? nil : handle.rawValue, value: octets, isBeforeAnswer: isPending)
      change(trigger) { $0.updates.append(update) }
    }
  }
}

extension TwinBehaviour.Value {
  /// Adds a part to the value that was read last.
  fileprivate mutating func extend(by part: [UInt8]) {
    guard hasLongAnswer, source == nil, let last = reads.indices.last else { return }
    reads[last].extend(by: part)
  }

  /// Leaves out what repeats the entry before, at the end of each list: a copy repeats the last one.
  fileprivate mutating func shorten() {
    writes = writes.indices.filter { !withdrawn.contains($0) }.map { writes[$0] }
    reads.shortenEnd()
    subscriptions.shortenEnd()
    if subscriptions == [[]] { subscriptions = [] }
    for index in writes.indices {
      for place in writes[index].reads.indices { writes[index].reads[place].values.shortenEnd() }
    }
    var (last, behaving): ([[UInt8]: ServiceDescription.Write], Set<[UInt8]>) = ([:], [])
    for write in writes where !write.isPlain { behaving.insert(write.value) }
    writes = writes.filter { write in
      // A plain write needs no entry: every write that is not recorded is accepted.
      guard behaving.contains(write.value), last[write.value] != write else { return false }
      last[write.value] = write
      return true
    }
  }
}

extension ServiceDescription.Connection {
  /// The request of a peripheral; nil for one that is not allowed.
  fileprivate init?(_ request: ConnectionParameterUpdateRequest, delay: UInt32) {
    guard request.intervalMin <= request.intervalMax,
      LinkLayerLimits.connectionInterval.contains(request.intervalMin),
      LinkLayerLimits.connectionInterval.contains(request.intervalMax),
      LinkLayerLimits.peripheralLatency.contains(request.latency),
      LinkLayerLimits.supervisionTimeout.contains(request.timeout)
    else { return nil }
    self.init(
      delay: delay, interval: request.intervalMin...request.intervalMax, latency: request.latency,
      timeout: request.timeout)
  }
}

extension ServiceDescription.Write {
  fileprivate var isPlain: Bool { error == nil && delay == 0 && updates.isEmpty && reads.isEmpty }
}

extension Array where Element: Equatable {
  fileprivate mutating func shortenEnd() {
    while count > 1, self[count - 1] == self[count - 2] { removeLast() }
  }
}

extension ServiceDescription.ReadAnswer {
  fileprivate mutating func extend(by part: [UInt8]) {
    if case .value(let octets) = self { self = .value(octets + part) }
  }

  /// Whether this answer is the beginning of a value, as far as one response has room.
  fileprivate func isBeginning(of value: [UInt8], _ mtu: Int) -> Bool {
    guard case .value(let octets) = self else { return false }
    return octets == value || octets.count == mtu - 1 && value.starts(with: octets)
  }

  fileprivate var count: Int { if case .value(let octets) = self { octets.count } else { 0 } }

  fileprivate func isLonger(than beginning: [UInt8]) -> Bool {
    guard case .value(let octets) = self else { return false }
    return octets.count > beginning.count && octets.starts(with: beginning)
  }

  fileprivate func starts(with answer: Self, _ mtu: Int) -> Bool {
    switch self {
    case .value(let value): answer.isBeginning(of: value, mtu)
    case .error: self == answer
    }
  }
}

extension ServiceDescription.Pairing.Capability {
  fileprivate init?(_ capability: IOCapability) {
    switch capability {
    case .displayOnly: self = .display
    case .displayYesNo: self = .displayYesNo
    case .keyboardOnly: self = .keyboard
    case .noInputNoOutput: self = .none
    case .keyboardDisplay: self = .keyboardDisplay
    default: return nil
    }
  }
}
