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

  /// Changes the Device Name characteristic; cut to 248 octets at a character (Vol 3, Part C, 12.1). Without Generic
  /// Access service nothing happens.
  public mutating func setDeviceName(_ name: String) {
    setStackValue("2A00", Self.deviceNameOctets(name))
  }

  /// Changes the Appearance characteristic (Vol 3, Part C, 12.2). Without Generic Access service nothing happens.
  public mutating func setAppearance(_ appearance: UInt16) {
    setStackValue("2A01", [UInt8(truncatingIfNeeded: appearance), UInt8(truncatingIfNeeded: appearance >> 8)])
  }

  /// Changes the Central Address Resolution characteristic (Vol 3, Part C, 12.4). Without it nothing happens.
  public mutating func setCentralAddressResolution(_ resolves: Bool) { setStackValue("2AA6", [resolves ? 1 : 0]) }

  private mutating func setStackValue(_ type: BluetoothUUID, _ value: [UInt8]) {
    guard let range = range(of: .genericAccess) else { return }
    var place = firstPlace(from: range.lowerBound)
    while place < attributes.count, attributes[place].handle <= range.upperBound {
      if attributes[place].type == type.value { return replace(at: place, with: value.span) }
      place += 1
    }
  }

  static func deviceNameOctets(_ name: String) -> [UInt8] {
    var octets: [UInt8] = []
    for character in name {
      guard octets.count + character.utf8.count <= 248 else { break }
      octets.append(contentsOf: character.utf8)
    }
    return octets
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
