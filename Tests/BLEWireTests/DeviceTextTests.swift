import BLEWire
import Testing

/// What of the octets that a device sends as text is its text.
@Suite struct DeviceTextTests {
  @Test(
    arguments: [
      ("50 61 64", "Pad"), ("50 61 64 00", "Pad"), ("50 61 64 00 00 00 00", "Pad"), ("50 61 64 00 78", "Pad"),
      ("50 61 64 20 20", "Pad"), ("50 61 64 ff ff", "Pad"), ("50 61 64 0d 0a 00 ff", "Pad"), ("20 50 61", " Pa"),
      ("50 20 61", "P a"), ("4b c3 a4", "Kä"), ("", ""), ("00", ""), ("00 41", ""), ("20 ff 00", ""),
    ])
  func endsBeforeThePadding(_ octets: String, _ text: String) throws {
    let received = try #require([UInt8](hexadecimal: octets))
    let found = DeviceText(received[...])
    #expect(found.valid == text && found.repaired == text && found.isEmpty == text.isEmpty)
    #expect(Array(found.octets) == Array(text.utf8))
  }

  @Test(arguments: [("41 c3", "A\u{FFFD}"), ("80 41", "\u{FFFD}A"), ("c3 00", "\u{FFFD}")])
  func repairsInvalidOctets(_ octets: String, _ text: String) throws {
    let received = try #require([UInt8](hexadecimal: octets))
    #expect(DeviceText(received[...]).valid == nil && DeviceText(received[...]).repaired == text)
  }

  @Test func takesASliceAnywhereInAPacket() {
    let packet: [UInt8] = [0xFF, 0x41, 0x42, 0x00, 0x43]
    #expect(DeviceText(packet[1...]).valid == "AB" && Array(DeviceText.untilNUL(packet[1...])) == [0x41, 0x42])
  }
}
