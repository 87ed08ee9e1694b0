import BLEATT
import BLEWire

/// Write Request and Write Command (Vol 3, Part F, 3.4.5), decoded in place
/// (Docs/Decisions/wire-and-codecs.md#a-packet-is-declared-once).
extension GATTServer {
  @inline(__always)
  mutating func write(
    _ pdu: Span<UInt8>, opcode: UInt8, security: SecurityState, database: inout AttributeDatabase, now: Instant,
    into output: inout Output
  ) {
    let opcode = ATTOpcode(rawValue: opcode)
    guard pdu.count >= 3 else { return opcode.isCommand ? () : output.reject(opcode, .invalidPDU) }
    let handle = AttributeHandle(pdu.uint16(at: 1) ?? 0)
    if opcode.isCommand {
      guard awareness == .aware, let place = database.place(of: handle) else { return }
      guard database.attributes[place].write.error(for: security, otherwise: .writeNotPermitted) == nil else {
        return
      }
      _ = write(pdu.extracting(3...), at: place, for: opcode, database: &database, now: now, into: &output)
      return
    }
    guard let place = place(of: handle, for: opcode, database: database, into: &output) else { return }
    if let error = database.attributes[place].write.error(for: security, otherwise: .writeNotPermitted) {
      return output.reject(opcode, handle: handle, error)
    }
    switch write(pdu.extracting(3...), at: place, for: opcode, database: &database, now: now, into: &output) {
    case .written: output.append(WriteResponse())
    case .requested: break
    case .rejected(let code): output.reject(opcode, handle: handle, code)
    }
  }

  enum WriteResult {
    case written
    /// The application received the request.
    case requested
    case rejected(ATTErrorCode)
  }

  /// Writes a whole value to an attribute that the client may write.
  @inline(__always)
  private mutating func write(
    _ value: Span<UInt8>, at place: Int, for opcode: ATTOpcode, database: inout AttributeDatabase, now: Instant,
    into output: inout Output
  ) -> WriteResult {
    let attribute = database.attributes[place]
    if attribute.kind == .stored {
      guard value.count <= Int(attribute.maximumLength) else { return .rejected(.invalidAttributeValueLength) }
      if value.count < Int(attribute.minimumLength) {
        guard attribute.hasFixedLength else { return .rejected(.invalidAttributeValueLength) }
        database.overwriteFront(at: place, with: value)
      } else {
        database.replace(at: place, with: value)
      }
      if attribute.id != .stack, database.reportsStoredWrites { output.events.append(.stored(attribute.id)) }
      return .written
    }
    // A Write Command fills the ATT_MTU in streams: two octets more than a value has with an ATT_MTU of 517.
    if value.count > ATT.maximumValueLength, !opcode.isCommand { return .rejected(.invalidAttributeValueLength) }
    if attribute.kind == .dynamic, let result = provide(value, to: attribute, database, output) { return result }
    return write(value, to: attribute, for: opcode, now: now, into: &output)
  }

  /// Gives a value to its provider; nil if the application must take it.
  private func provide(
    _ value: Span<UInt8>, to attribute: AttributeEntry, _ database: AttributeDatabase, _ output: borrowing Output
  ) -> WriteResult? {
    guard database.callsProviders, database.providers.contains(attribute.id), output.hasNoEvents,
      let write = database.providers[attribute.id]?.write
    else { return nil }
    return switch write(value, ValueProvider.Client(number: client, mtu: mtu)) {
    case .success: .written
    case .failure(let code): .rejected(code.sendable)
    case nil: nil
    }
  }

  /// Writes a value that is not stored in the database.
  private mutating func write(
    _ value: Span<UInt8>, to attribute: AttributeEntry, for opcode: ATTOpcode, now: Instant, into output: inout Output
  ) -> WriteResult {
    switch attribute.kind {
    case .dynamic:
      let part = WritePart(attribute: attribute.id, offset: 0, value: [UInt8](copying: value))
      if opcode.isCommand {
        output.append(command: part)
      } else {
        let token = suspend(opcode, .write(attribute.handle), now: now)
        output.events.append(.write(token, [part], isPrepared: false))
      }
      return .requested
    case .clientConfiguration:
      guard value.count == 2, let bits = value.uint16(at: 0) else { return .rejected(.invalidAttributeValueLength) }
      let configuration = Subscription(rawValue: bits)
      if let error = error(for: configuration, in: attribute) { return .rejected(error) }
      configure(attribute, configuration, into: &output)
      return .written
    case .clientFeatures:
      guard value.count >= 1 else { return .rejected(.invalidAttributeValueLength) }
      guard setFeatures(ClientSupportedFeatures(rawValue: value[0])) else { return .rejected(.valueNotAllowed) }
      return .written
    default: return .rejected(.writeNotPermitted)  // The stack alone sets the others.
    }
  }

  /// The error for a Client Characteristic Configuration with a bit that the properties of the characteristic do not
  /// allow (Vol 3, Part G, 3.3.3.3). Bits that are reserved for future use are ignored (Docs/Decisions/gatt.md#cccd).
  func error(for value: Subscription, in descriptor: AttributeEntry) -> ATTErrorCode? {
    let properties = GATTCharacteristicProperties(rawValue: UInt8(truncatingIfNeeded: descriptor.configuration))
    if value.contains(.notify), !properties.contains(.notify) {
      return .clientCharacteristicConfigurationImproperlyConfigured
    }
    if value.contains(.indicate), !properties.contains(.indicate) {
      return .clientCharacteristicConfigurationImproperlyConfigured
    }
    return nil
  }

  /// Sets a Client Characteristic Configuration descriptor to a value without an error.
  mutating func configure(_ descriptor: AttributeEntry, _ value: Subscription, into output: inout Output) {
    let value = value.intersection([.notify, .indicate])
    guard value != configuration(of: descriptor.handle) else { return }
    let place = configurations.firstIndex { $0.descriptor >= descriptor.handle } ?? configurations.count
    if place < configurations.count, configurations[place].descriptor == descriptor.handle {
      if value.isEmpty { configurations.remove(at: place) } else { configurations[place].value = value }
    } else {
      configurations.insert(.init(descriptor: descriptor.handle, value: value), at: place)
    }
    if !value.contains(.indicate) {
      // The stack's own indication is Service Changed.
      if descriptor.id == .stack { indications.changedRange = nil }
      // For a client that receives notifications now, the values that wait become such.
      if !value.contains(.notify) { discardIndications(into: &output) { id, _ in id == descriptor.id } }
    }
    if descriptor.id != .stack { output.events.append(.subscription(descriptor.id, value)) }
  }

  /// The client's value of a Client Characteristic Configuration descriptor.
  @inline(__always)
  func configuration(of descriptor: AttributeHandle) -> Subscription {
    var low = 0
    var high = configurations.count
    while low < high {
      let middle = (low + high) / 2
      if configurations[middle].descriptor < descriptor { low = middle + 1 } else { high = middle }
    }
    return low < configurations.count && configurations[low].descriptor == descriptor ? configurations[low].value : []
  }
}
