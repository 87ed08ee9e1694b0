import BLEATT
import BLEHCI
import BLEL2CAP
import BLESMP
import BLEWire

/// Collects the fields of a packet as pairs of name and value, without the places of their octets.
struct FieldSummary: FieldVisitor {
  private(set) var fields: [(name: String, value: String)] = []
  private var lowerHalf: UInt64 = 0

  /// The fields of `packet`: `Status: Success (0x00), Connection_Handle: 0x0040`.
  static func text(of packet: some Packet) -> String {
    var summary = Self()
    var copy = packet
    copy.layout(&summary)
    return summary.fields.map { "\($0.name): \($0.value)" }.joined(separator: ", ")
  }

  /// The fields of an event; nil for one that is not declared.
  static func text(of event: HCIEvent) -> String? {
    var visitor = Visitor()
    return event.visit(with: &visitor)
  }

  static func text(of pdu: ATTPDU) -> String {
    var visitor = Visitor()
    return pdu.visit(with: &visitor)
  }

  static func text(of pdu: SMPPDU) -> String {
    var visitor = Visitor()
    return pdu.visit(with: &visitor)
  }

  /// The fields of a signalling command; nil for one that is not declared.
  static func text(of command: SignallingCommand) -> String? {
    var visitor = Visitor()
    return command.visit(with: &visitor)
  }

  private struct Visitor: HCIEventVisitor, ATTPacketVisitor, SMPPacketVisitor, SignallingPacketVisitor {
    func visit(_ event: some HCIEventParameters) -> String { FieldSummary.text(of: event) }
    func visit(_ packet: some ATTPacket) -> String { FieldSummary.text(of: packet) }
    func visit(_ packet: some SMPPacket) -> String { FieldSummary.text(of: packet) }
    func visit(_ packet: some SignallingPacket) -> String { FieldSummary.text(of: packet) }
  }

  mutating func integer<T: FixedWidthInteger>(_ name: FieldName, _ value: inout T) throws(Never) {
    add(name, "\(value)")
  }

  mutating func integer(_ name: FieldName, octets: Int, _ value: inout UInt32) throws(Never) { add(name, "\(value)") }

  mutating func value<R: RawRepresentable>(
    _ name: FieldName, _ value: inout R
  ) throws(Never) where R.RawValue: FixedWidthInteger {
    add(name, "\(value.rawValue)")
  }

  mutating func value<R: RawRepresentable & CustomStringConvertible>(
    _ name: FieldName, _ value: inout R
  ) throws(Never) where R.RawValue: FixedWidthInteger {
    add(name, value.description)
  }

  mutating func octets(_ name: FieldName, count: Int, _ value: inout Bytes) throws(Never) { add(name, value) }

  mutating func rest(_ name: FieldName, _ value: inout Bytes) throws(Never) { add(name, value) }

  mutating func counted(_ name: FieldName, _ value: inout Bytes) throws(Never) { add(name, value) }

  mutating func padded(_ name: FieldName, size: Int, _ value: inout Bytes) throws(Never) { add(name, value) }

  mutating func list<Group: FieldGroup>(
    _ name: FieldName, count: Int, _ groups: inout [Group]
  ) throws(Never) {
    for index in groups.indices.prefix(count) { groups[index].layout(&self) }
  }

  mutating func counted<Group: FieldGroup>(_ name: FieldName, _ groups: inout [Group]) throws(Never) {
    list(name, count: groups.count, &groups)
  }

  mutating func rest<Group: FieldGroup>(_ name: FieldName, _ groups: inout [Group]) throws(Never) {
    list(name, count: groups.count, &groups)
  }

  mutating func rest<Group: FieldGroup>(
    _ name: FieldName, atLeast minimum: Int, each size: Int?, _ groups: inout [Group]
  ) throws(Never) {
    list(name, count: groups.count, &groups)
  }

  mutating func rest(_ name: FieldName, leaving count: Int, _ value: inout Bytes) throws(Never) { add(name, value) }

  mutating func rest(_ name: FieldName, _ uuid: inout BluetoothUUID) throws(Never) { add(name, "\(uuid)") }

  mutating func uuid(
    _ name: FieldName, size: BluetoothUUID.Size, _ uuid: inout BluetoothUUID
  ) throws(Never) {
    add(name, "\(uuid)")
  }

  private mutating func add(_ name: FieldName, _ value: Bytes) {
    if value.isEmpty { return add(name, "empty") }
    if name == "Advertising_Data" || name == "Scan_Response_Data" { return add(name, AdvertisementText.line(value)) }
    add(name, value.hexadecimal)
  }

  private mutating func add(_ name: FieldName, _ value: String) {
    let name = "\(name)"
    // The declarations divide the 48 bits of an address into two numbers.
    if name.hasSuffix(" (lower 32 bits)") {
      lowerHalf = UInt64(value) ?? 0
    } else if name.hasSuffix(" (upper 16 bits)") {
      let address = BD_ADDR((UInt64(value) ?? 0) << 32 | lowerHalf)
      fields.append((String(name.dropLast(" (upper 16 bits)".count)), "\(address)"))
    } else {
      fields.append((name, value))
    }
  }
}
