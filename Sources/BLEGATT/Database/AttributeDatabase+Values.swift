import BLEATT
import BLEWire

/// The values, and the hash over the database.
extension AttributeDatabase {
  /// Sets a stored value. Clients are not informed:
  /// ``GATTServer/sendUpdate(of:value:security:database:now:into:)-(AttributeID,_,_,_,_,_)``.
  ///
  /// - Throws: ``DatabaseError/unknownAttribute(_:)``, ``DatabaseError/notStored(_:)``, or
  ///   ``DatabaseError/lengthNotAllowed(_:octets:allowed:)``.
  public mutating func setStored(_ attribute: AttributeID, _ value: some Collection<UInt8>) throws(DatabaseError) {
    guard let handle = handles[attribute], let place = place(of: handle) else { throw .unknownAttribute(attribute) }
    guard attributes[place].kind == .stored else { throw .notStored(attribute) }
    let allowed = attributes[place].allowedLengths
    guard allowed.contains(value.count) else {
      throw .lengthNotAllowed(attribute, octets: value.count, allowed: allowed)
    }
    replace(at: place, with: Array(value).span)
  }

  /// A stored or fixed value; nil if the value is dynamic, or if the database does not have the attribute.
  public func storedValue(of attribute: AttributeID) -> [UInt8]? {
    guard let handle = handles[attribute], let place = place(of: handle), attributes[place].kind != .dynamic else {
      return nil
    }
    return Array(octets[attributes[place].range])
  }

  /// Appends the value of a new entry to the octets.
  mutating func place(_ value: some Collection<UInt8>, in attribute: inout AttributeEntry) {
    attribute.start = UInt32(truncatingIfNeeded: octets.count)
    attribute.length = UInt16(clamping: value.count)
    attribute.capacity = attribute.length
    octets.append(contentsOf: value)
  }

  /// Replaces the value at `place` with one of an allowed length. A value that outgrows its capacity moves to the end
  /// and gets the capacity for the longest allowed value, so it moves once.
  mutating func replace(at place: Int, with value: Span<UInt8>) {
    let count = value.count
    if count > Int(attributes[place].capacity) { increaseCapacity(at: place, to: count) }
    attributes[place].length = UInt16(truncatingIfNeeded: count)
    octets.overwrite(at: Int(attributes[place].start), copying: value)
  }

  /// Writes the first octets of a value of fixed length; the other octets are unchanged (Vol 3, Part F, 3.4.5.1).
  mutating func overwriteFront(at place: Int, with value: Span<UInt8>) {
    guard value.count <= Int(attributes[place].length) else { return }
    octets.overwrite(at: Int(attributes[place].start), copying: value)
  }

  private mutating func increaseCapacity(at place: Int, to count: Int) {
    unusedOctets += Int(attributes[place].capacity)
    if unusedOctets > 4096, unusedOctets > octets.count / 2 { packOctets() }
    let capacity = max(count, Int(attributes[place].maximumLength))
    attributes[place].start = UInt32(truncatingIfNeeded: octets.count)
    attributes[place].capacity = UInt16(truncatingIfNeeded: capacity)
    octets.append(contentsOf: repeatElement(0, count: capacity))
  }

  /// Removes the octets that belong to no attribute.
  mutating func packOctets() {
    var packed: [UInt8] = []
    for place in attributes.indices {
      let start = Int(attributes[place].start)
      attributes[place].start = UInt32(truncatingIfNeeded: packed.count)
      packed.append(contentsOf: octets[start..<start + Int(attributes[place].capacity)])
    }
    octets = packed
    unusedOctets = 0
  }

  /// Removes the long types that belong to no attribute.
  mutating func packTypes() {
    var packed: [UInt128] = []
    for place in attributes.indices { attributes[place].moveType(from: longTypes, to: &packed) }
    longTypes = packed
  }
}

/// The Database Hash: a client that reconnects compares it with the hash of the database that it discovered (Vol 3,
/// Part G, 7.3).
extension AttributeDatabase {
  /// The Database Hash, 16 octets, least significant octet first; nil if the database was made without a CMAC.
  public func databaseHash() -> [UInt8]? {
    databaseHashCMAC.map { databaseHash(cmac: $0) }
  }

  /// The Database Hash, 16 octets, least significant octet first.
  ///
  /// - Parameter cmac: AES-CMAC with a key of zeros. The argument is the message, and the result is the 16 octets of
  ///   the code, most significant octet first.
  public func databaseHash(cmac: (_ message: [UInt8]) -> [UInt8]) -> [UInt8] {
    cmac(databaseHashMessage).reversed()
  }

  /// The message of the CMAC: handle, type and value of declarations and extended properties, and handle and type of
  /// the other descriptors 0x2901 to 0x2905 (Vol 3, Part G, 7.3.1).
  var databaseHashMessage: [UInt8] {
    var message: [UInt8] = []
    for attribute in attributes where attribute.hasShortType {
      let hasValue =
        [.service, .include, .characteristic].contains(attribute.kind)
        || attribute.hasType(.characteristicExtendedProperties)
      guard hasValue || (0x2900...0x2905).contains(attribute.type) else { continue }
      message.append(littleEndian: attribute.handle.rawValue)
      message.append(littleEndian: attribute.type)
      if hasValue { message.append(contentsOf: octets[attribute.range]) }
    }
    return message
  }
}
