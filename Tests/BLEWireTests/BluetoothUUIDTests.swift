import BLEWire
import Testing

@Suite("Bluetooth UUID (Vol 3, Part B, 2.5.1)")
struct BluetoothUUIDTests {
  @Test func shortUUIDEqualsItsExpansion() {
    let short: BluetoothUUID = "1234"
    #expect(short == "00001234-0000-1000-8000-00805f9b34fb")
    #expect(short == BluetoothUUID(bigEndian: [0x12, 0x34]))
    #expect(short.hashValue == BluetoothUUID("00001234-0000-1000-8000-00805F9B34FB").hashValue)
  }

  @Test(arguments: [
    ("180D", "180D", 2),
    ("0x180d", "180D", 2),
    ("0000180D", "180D", 4),
    ("12345678", "12345678", 4),
    ("0000180d-0000-1000-8000-00805f9b34fb", "180D", 16),
    ("e20a39f4-73f5-4bc4-a12f-17d1ad07a961", "E20A39F4-73F5-4BC4-A12F-17D1AD07A961", 16),
    ("0X000a", "000A", 2),
    ("0001000A", "0001000A", 4),
    ("0x00000000-0a00-0000-0000-00000000000f", "00000000-0A00-0000-0000-00000000000F", 16),
  ])
  func readsAndPrintsText(text: String, printed: String, octets: Int) throws {
    let uuid = try #require(BluetoothUUID(text))
    #expect(uuid.uuidString == printed)
    #expect(uuid.littleEndian.count == octets)
    #expect(BluetoothUUID(littleEndian: uuid.littleEndian) == uuid)
  }

  @Test(arguments: [
    "", "180", "180D0", "XYZW", "E20A39F473F54BC4A12F17D1AD07A961", "E20A39F4-73F5-4BC4-A12F-17D1AD07A96", "18-0D",
    "+80D", "0x", "0x0x180D", "-180D", "180D-", "１80D", "180D\u{301}", "E20A39F4-73F5-4BC4-A12F-17D1AD07A961-",
  ])
  func rejectsOtherText(text: String) { #expect(BluetoothUUID(text) == nil) }

  @Test func encodesLeastSignificantOctetFirst() {
    #expect(BluetoothUUID(0x180D).littleEndian == [0x0D, 0x18])
    let long: BluetoothUUID = "00112233-4455-6677-8899-AABBCCDDEEFF"
    #expect(long.littleEndian.hexadecimal == "ffeeddccbbaa99887766554433221100")
  }

  @Test func attributeTypeHasNo32Bits() {
    #expect(BluetoothUUID(uuid32: 0x1234_5678).attributeType.littleEndian.count == 16)
  }

  @Test(arguments: [0, 1, 3, 5, 15, 17, 300]) func rejectsOtherLengths(count: Int) {
    #expect(BluetoothUUID(littleEndian: [UInt8](repeating: 1, count: count)) == nil)
  }
}

@Suite("Device address (Vol 6, Part B, 1.3)")
struct DeviceAddressTests {
  @Test func addressIsPrintedMostSignificantOctetFirst() throws {
    let address = try #require(DeviceAddress("C0:11:22:33:44:55", kind: .random))
    #expect(address.octets.littleEndian == [0x55, 0x44, 0x33, 0x22, 0x11, 0xC0])
    #expect(address.description == "C0:11:22:33:44:55 (random)")
    #expect(address.randomKind == .static)
  }

  @Test(arguments: [
    "+F:00:00:00:00:01", "-1:00:00:00:00:01", "C0:11:22:33:44:+5", "Ｆ0:00:00:00:00:01", "é:00:00:00:00:01",
  ])
  func aSignIsNoDigitOfAnAddress(text: String) { #expect(DeviceAddress(text, kind: .public) == nil) }

  @Test(arguments: [
    (UInt64(0xC0_00_00_00_00_00), DeviceAddress.RandomKind.static),
    (UInt64(0x40_00_00_00_00_00), DeviceAddress.RandomKind.resolvablePrivate),
    (UInt64(0x00_00_00_00_00_01), DeviceAddress.RandomKind.nonResolvablePrivate),
    (UInt64(0x80_00_00_00_00_00), DeviceAddress.RandomKind.reserved),
  ])
  func twoMostSignificantBitsSelectTheRandomKind(value: UInt64, kind: DeviceAddress.RandomKind) {
    #expect(DeviceAddress(octets: BD_ADDR(value), kind: .random).randomKind == kind)
    #expect(DeviceAddress(octets: BD_ADDR(value), kind: .public).randomKind == nil)
  }

  @Test(arguments: [
    (UInt64(0xC0_00_00_00_00_01), true), (0xFF_FF_FF_FF_FF_FE, true), (0xC0_00_00_00_00_00, false),
    (0xFF_FF_FF_FF_FF_FF, false), (0x40_00_00_00_00_01, false), (0x00_00_00_00_00_01, false),
    (0x80_00_00_00_00_01, false),
  ])
  func anIdentityIsPublicOrStatic(value: UInt64, isStatic: Bool) {
    for kind in [DeviceAddress.Kind.random, .randomIdentity] {
      #expect(DeviceAddress(octets: BD_ADDR(value), kind: kind).isIdentityAddress == isStatic)
    }
    #expect(DeviceAddress(octets: BD_ADDR(value), kind: .public).isIdentityAddress)
    #expect(!DeviceAddress(octets: BD_ADDR(value), kind: .anonymous).isIdentityAddress)
  }

  @Test func identityHasThePublicOrRandomType() {
    let resolved = DeviceAddress(octets: BD_ADDR(1), kind: .publicIdentity)
    #expect(resolved.identity == DeviceAddress(octets: BD_ADDR(1), kind: .public))
  }

  @Test(arguments: ["", "C0:11:22:33:44", "C0:11:22:33:44:5", "G0:11:22:33:44:55", "C0-11-22-33-44-55"])
  func rejectsOtherAddressText(text: String) { #expect(DeviceAddress(text, kind: .public) == nil) }

  /// A value with an alignment of 16 octets crashes tasks that capture it, without optimization
  /// (Docs/Decisions/wire-and-codecs.md#128-bits-in-halves).
  @Test func aTaskMayCaptureAUUID() async {
    final class Reference: Sendable {}
    struct Found: Sendable {
      let uuid: BluetoothUUID
      let properties: UInt8
      let handles: ClosedRange<UInt16>?
    }
    #expect(MemoryLayout<BluetoothUUID>.alignment <= 8)
    let (reference, found) = (Reference(), Found(uuid: "180D", properties: 0x10, handles: 1...2))
    let task = Task { (ObjectIdentifier(reference), found) }
    await Task.yield()
    #expect(await task.value.1.uuid == "180D")
  }
}
