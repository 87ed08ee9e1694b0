import BLEATT
import BLEWire

/// Write Request and Write Command (Vol 3, Part F, 3.4.5).
extension GATTServer {
  @inline(__always)
  mutating func write(
    _ pdu: Span<UInt8>, _ opcode: UInt8, _ security: SecurityState, _ database: inout AttributeDatabase,
    _ now: Instant, _ output: inout GATTServer.Output
  ) {
    let isCommand = opcode == ATTOpcode.writeCommand.rawValue
    guard pdu.count >= 3 else { return isCommand ? () : output.refuse(opcode, .none, .invalidPDU) }
    let handle = AttributeHandle(pdu.uint16(at: 1) ?? 0)
    if isCommand {
      guard awareness == .aware, let place = database.place(of: handle) else { return }
      guard database.attributes[place].write.refusal(for: security, otherwise: .writeNotPermitted) == nil else {
        return
      }
      _ = write(pdu.extracting(3...), at: place, opcode, &database, now, &output)
      return
    }
    guard let place = place(of: handle, opcode, database, &output) else { return }
    if let refusal = database.attributes[place].write.refusal(for: security, otherwise: .writeNotPermitted) {
      return output.refuse(opcode, handle, refusal)
    }
    switch write(pdu.extracting(3...), at: place, opcode, &database, now, &output) {
    case .done: output.pdus.append { $0.append(ATTOpcode.writeResponse.rawValue) }
    case .asked: break
    case .refused(let code): output.refuse(opcode, handle, code)
    }
  }

  enum WriteOutcome {
    case done
    /// The application was asked.
    case asked
    case refused(ATTErrorCode)
  }

  /// Writes a whole value into an attribute that this client may write.
  @inline(__always)
  private mutating func write(
    _ value: Span<UInt8>, at place: Int, _ opcode: UInt8, _ database: inout AttributeDatabase, _ now: Instant,
    _ output: inout GATTServer.Output
  ) -> WriteOutcome {
    let attribute = database.attributes[place]
    if attribute.kind == .stored {
      guard value.count <= Int(attribute.maximumLength) else { return .refused(.invalidAttributeValueLength) }
      if value.count < Int(attribute.minimumLength) {
        guard attribute.minimumLength == attribute.maximumLength else { return .refused(.invalidAttributeValueLength) }
        database.overwriteFront(at: place, with: value)
      } else {
        database.replace(at: place, with: value)
      }
      if attribute.id != .stack { output.events.append(.stored(attribute.id)) }
      return .done
    }
    return writeElsewhere(value, attribute, opcode, database, now, &output)
  }

  private mutating func writeElsewhere(
    _ value: Span<UInt8>, _ attribute: AttributeEntry, _ opcode: UInt8, _ database: AttributeDatabase, _ now: Instant,
    _ output: inout GATTServer.Output
  ) -> WriteOutcome {
    switch attribute.kind {
    case .dynamic:
      guard value.count <= ATT.maximumValueLength else { return .refused(.invalidAttributeValueLength) }
      let part = WritePart(attribute: attribute.id, offset: 0, value: [UInt8](copying: value))
      if opcode == ATTOpcode.writeCommand.rawValue {
        output.events.append(.write(nil, [part], isPrepared: false))
      } else {
        let token = suspend(opcode, .write(attribute.handle), now)
        output.events.append(.write(token, [part], isPrepared: false))
      }
      return .asked
    case .clientConfiguration:
      guard value.count == 2, let bits = value.uint16(at: 0) else { return .refused(.invalidAttributeValueLength) }
      let configuration = Subscription(rawValue: bits)
      if let refusal = refusal(of: configuration, attribute) { return .refused(refusal) }
      configure(attribute, configuration, &output)
      return .done
    case .clientFeatures:
      guard value.count >= 1 else { return .refused(.invalidAttributeValueLength) }
      guard setFeatures(ClientSupportedFeatures(rawValue: value[0])) else { return .refused(.valueNotAllowed) }
      return .done
    default: return .refused(.writeNotPermitted)
    }
  }

  /// Why a Client Characteristic Configuration descriptor cannot take this value: a bit is set that the properties do
  /// not offer (Vol 3, Part G, 3.3.3.3: it "can only be set" if they do). Bits reserved for future use are ignored.
  func refusal(of value: Subscription, _ descriptor: AttributeEntry) -> ATTErrorCode? {
    let properties = GATTCharacteristicProperties(rawValue: UInt8(truncatingIfNeeded: descriptor.configuration))
    if value.contains(.notify), !properties.contains(.notify) {
      return .clientCharacteristicConfigurationImproperlyConfigured
    }
    if value.contains(.indicate), !properties.contains(.indicate) {
      return .clientCharacteristicConfigurationImproperlyConfigured
    }
    return nil
  }

  /// Takes a value for a Client Characteristic Configuration descriptor that was found right.
  mutating func configure(_ descriptor: AttributeEntry, _ value: Subscription, _ output: inout GATTServer.Output) {
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
      withdrawIndications(&output) { id, _ in id == descriptor.id }
    }
    if descriptor.id != .stack { output.events.append(.subscription(descriptor.id, value)) }
  }

  /// This client's value of a Client Characteristic Configuration descriptor.
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

extension AttributeDatabase {
  /// Writes the first octets of a value of fixed length; the others stay (Vol 3, Part F, 3.4.5.1).
  mutating func overwriteFront(at place: Int, with value: Span<UInt8>) {
    guard value.count <= Int(attributes[place].length) else { return }
    octets.overwrite(at: Int(attributes[place].start), copying: value)
  }
}
