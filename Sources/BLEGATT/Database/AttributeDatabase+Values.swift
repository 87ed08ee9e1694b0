import BLEATT
import BLEWire

/// Values: where they lie, and how they change.
extension AttributeDatabase {
  /// Changes a value that the stack keeps; no client is told.
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

  /// The value that the stack keeps or that is fixed; nil for a dynamic or unknown one.
  public func storedValue(of attribute: AttributeID) -> [UInt8]? {
    guard let handle = handles[attribute], let place = place(of: handle), attributes[place].kind != .dynamic else {
      return nil
    }
    return Array(octets[attributes[place].range])
  }

  /// Appends octets for an attribute that is being made.
  mutating func place(_ value: some Collection<UInt8>, in attribute: inout AttributeEntry) {
    attribute.start = UInt32(truncatingIfNeeded: octets.count)
    attribute.length = UInt16(clamping: value.count)
    attribute.capacity = attribute.length
    octets.append(contentsOf: value)
  }

  /// Replaces the value at `place`, whose length was checked. A value that outgrows its room moves to the end and gets
  /// room for the longest one allowed, so it moves once.
  mutating func replace(at place: Int, with value: Span<UInt8>) {
    let count = value.count
    if count > Int(attributes[place].capacity) { makeRoom(at: place, for: count) }
    attributes[place].length = UInt16(truncatingIfNeeded: count)
    octets.overwrite(at: Int(attributes[place].start), copying: value)
  }

  private mutating func makeRoom(at place: Int, for count: Int) {
    abandonedOctets += Int(attributes[place].capacity)
    if abandonedOctets > 4096, abandonedOctets > octets.count / 2 { packOctets() }
    let capacity = max(count, Int(attributes[place].maximumLength))
    attributes[place].start = UInt32(truncatingIfNeeded: octets.count)
    attributes[place].capacity = UInt16(truncatingIfNeeded: capacity)
    octets.append(contentsOf: repeatElement(0, count: capacity))
  }

  /// Copies what attributes own and leaves the rest behind.
  mutating func packOctets() {
    var packed: [UInt8] = []
    for place in attributes.indices {
      let start = Int(attributes[place].start)
      attributes[place].start = UInt32(truncatingIfNeeded: packed.count)
      packed.append(contentsOf: octets[start..<start + Int(attributes[place].capacity)])
    }
    octets = packed
    abandonedOctets = 0
  }
}

/// The Database Hash, by which a client that was away learns whether anything changed (Vol 3, Part G, 7.3).
extension AttributeDatabase {
  /// The Database Hash as it travels, least significant octet first; nil where the database was made without a CMAC.
  public func databaseHash() -> [UInt8]? {
    databaseHashCMAC.map { databaseHash(cmac: $0) }
  }

  /// The Database Hash as it travels, least significant octet first.
  ///
  /// - Parameter cmac: AES-CMAC with a key of zeroes: message in, sixteen octets out, most significant first.
  public func databaseHash(cmac: (_ message: [UInt8]) -> [UInt8]) -> [UInt8] {
    cmac(databaseHashMessage).reversed()
  }

  /// What goes through the CMAC: handle, type and value of declarations and extended properties; handle and type of the
  /// other descriptors that GATT itself defines (Vol 3, Part G, 7.3.1).
  var databaseHashMessage: [UInt8] {
    var message: [UInt8] = []
    for attribute in attributes where attribute.hasShortType {
      let type = BluetoothUUID(attribute.shortType)
      let isWhole =
        [.service, .include, .characteristic].contains(attribute.kind)
        || type == AttributeType.extendedProperties
      guard isWhole || AttributeType.hashedDescriptors.contains(attribute.shortType) else { continue }
      message.append(littleEndian: attribute.handle.rawValue)
      message.append(littleEndian: attribute.shortType)
      if isWhole { message.append(contentsOf: octets[attribute.range]) }
    }
    return message
  }
}
