import BLEAssignedNumbers
import BLEGAP
import BLEWire
import TestSupport
import Testing
import ToolCore

@testable import BLETrace
@testable import ble

struct ValueTests {
  /// Octets, UUID, text: the formats of the GATT Specification Supplement.
  @Test(arguments: [
    ("64", "2A19", "100 %"), ("", "2A19", "empty"), ("6464", "2A19", "64 64"),
    ("0648", "2A37", "72 bpm, skin contact"), ("014801", "2A37", "328 bpm"), ("01480102", "2A37", "01 48 01 02"),
    ("0E500a00", "2A37", "80 bpm, skin contact, 10 kJ"), ("105000040008", "2A37", "80 bpm, RR 1000 2000 ms"),
    ("08", "2A37", "08"), ("01", "2A38", "chest"), ("09", "2A38", "09"),
    ("6608", "2A6E", "21.50 °C"), ("18fc", "2A6E", "-10.00 °C"), ("fbff", "2A6E", "-0.05 °C"),
    ("0310", "2A6F", "40.99 %"), ("10270000", "2A6D", "1000.0 Pa"),
    ("006d0100ff", "2A1C", "36.5 °C"), ("01d70300ff", "2A1C", "98.3 °F"), ("00ffff7f00", "2A1C", "not a number"),
    ("046c0100ff02", "2A1C", "36.4 °C, Body (general)"), ("04", "2A0F", "04"), ("0804", "2A0F", "UTC+2:00"),
    ("eeff", "2A0F", "UTC-4:30"), ("002347", "2BED", "charging, charge low"),
    ("0200040000000000", "2A22", "modifiers: Left Shift, keys: key 0x04"), ("0101", "2908", "input report 1"),
    ("11010002", "2A4A", "version 1.11, Normally Connectable"), ("bc9a785634563412", "2A23", "OUI 123456, 3456789ABC"),
    ("3c00", "2A21", "every 60 s"), ("0080", "2A6E", "unknown"),
    ("01080017", "2A14", "source: Network Time Protocol (0x01)"),
    ("4003", "2A01", "Generic Heart Rate Sensor"),
    ("1800280000 00f401", "2A04", "interval 30.0 ms to 50.0 ms, latency 0, timeout 5000 ms"),
    ("e907010203040500 00 00", "2A2B", "2025-01-02 03:04:05"), ("0100", "2902", "notifications"),
    ("0300", "2902", "notifications, indications"),
    ("0000", "2902", "off"), ("0400", "2902", "04 00"), ("48656c6c6f", "2A00", "\"Hello\""),
    ("48656c6c6f00", "2A29", "\"Hello\""), ("ff41", "2A00", "\"\u{FFFD}A\" (ff 41)"), ("504100", "2901", "\"PA\""),
    ("5041002020", "2A00", "\"PA\""), ("504120ff", "2AF8", "\"PA\""), ("504100ff", "2A25", "\"PA\""),
    ("0000", "2A00", "\"\""),
    ("", "2A00", "empty"), ("0a", "2AC9", "0a"),
    ("014c0001000200", "2A50", "Apple, Inc., product 0x0001, version 0x0002"),
    ("020300372A", "2803", "Heart Rate Measurement at 0x0003"),
  ])
  func decodesTheFormatOfEachType(octets: String, uuid: String, text: String) throws {
    let value = try #require([UInt8](hexadecimal: octets.replacing(" ", with: "")))
    #expect(ValueText.text(value[...], of: BluetoothUUID(uuid)) == text)
  }

  @Test func showsOctetsAndTextOfAnUnknownType() {
    #expect(ValueText.text([0x01, 0x02], of: nil) == "01 02")
    #expect(ValueText.text(Array("abcd".utf8)[...], of: "FFF0") == "61 62 63 64 \"abcd\"")
    #expect(ValueText.text(Array("température".utf8)[...], of: nil).hasSuffix(" 65 \"température\""))
    let long = [UInt8](repeating: 0, count: 512)
    #expect(ValueText.text(long[...], of: nil).hasSuffix("… (512 octets)"))
  }

  /// Numbers that a counter has, one after the other, and other octets that are no text.
  @Test(arguments: [
    "07000000", "08000000", "09000000", "0a000000", "20202020", "616263640000", "6162636400", "61626364000065",
    "616263640d0a", "ff616263", "6162637f", "616263c285", "e280ae61",
  ])
  func controlCharactersAndPaddingAreNotText(octets: String) throws {
    let value = try #require([UInt8](hexadecimal: octets))
    let text = ValueText.text(value[...], of: nil)
    #expect(text == value.map { [$0][...].hexadecimal }.joined(separator: " "))
  }

  @Test func noValueOfAnyTypeTraps() {
    var random = SplitMix64(seed: 1)
    for number in UInt16(0x2800)...0x2C00 {
      for count in 0...20 {
        let octets = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
        #expect(!ValueText.text(octets[...], of: BluetoothUUID(number)).isEmpty)
      }
    }
  }

  @Test(arguments: ["\u{1B}[2J", "a\u{202E}b", "line\nbreak", "\u{7F}", "\u{200B}"])
  func escapesWhatCouldChangeTheTerminal(text: String) {
    for scalar in String(printable: text).unicodeScalars {
      #expect(scalar.value >= 0x20 && scalar.value != 0x7F && scalar.properties.generalCategory != .format)
    }
    #expect(String(printable: text).contains("\\u{"))
  }

  /// JSON may be shown in a terminal. The encoder escapes the C0 controls only.
  @Test(arguments: [
    ("\u{9B}2J", "\\u009b2J"), ("a\u{202E}b", "a\\u202eb"), ("\u{E0001}", "\\udb40\\udc01"), ("é 😀", "é 😀"),
  ])
  func jsonHasNoCharactersThatATerminalObeys(text: String, escaped: String) {
    #expect("{\"name\":\"\(text)\"}".printableJSON == "{\"name\":\"\(escaped)\"}")
  }

  @Test(arguments: [
    (21.5, 2, "21.50"), (0.0004, 3, "0.000"), (0.0006, 3, "0.001"), (-0.5, 1, "-0.5"), (-0.01, 1, "0.0"),
    (1234, 1, "1234.0"), (1e300, 1, "1e+300"), (.infinity, 3, "inf"),
  ])
  func numbersHaveTheirDecimals(value: Double, decimals: Int, text: String) {
    #expect(value.text(decimals: decimals) == text)
  }

  @Test func describesBeacons() throws {
    let iBeacon = try #require([UInt8](hexadecimal: "1aff4c000215e2c56db5dffb48d2b060d0f5a71096e000010002c5"))
    #expect(
      AdvertisementText.line(iBeacon[...])
        == "iBeacon E2C56DB5-DFFB-48D2-B060-D0F5A71096E0 1/2, -59 dBm at 1 m")
    let url = try #require([UInt8](hexadecimal: "0303aafe0e16aafe10f8036578616d706c6507"))
    #expect(AdvertisementText.line(url[...]).contains("Eddystone-URL https://example.com"))
    let telemetry = try #require([UInt8](hexadecimal: "0303aafe1116aafe20000bb8154000000064 0000012c"))
    #expect(AdvertisementText.line(telemetry[...]).contains("Eddystone-TLM battery 3000 mV, 21.3 °C"))
    let bare = try #require([UInt8](hexadecimal: "05ff4c001234"))
    #expect(AdvertisementText.line(bare[...]) == "Apple, Inc. 12 34")
  }

  @Test func namesAreThoseOfTheSIG() {
    #expect(AssignedNames.uuid("180D") == "Heart Rate")
    #expect(AssignedNames.uuid("0000180D-0000-1000-8000-00805F9B34FB") == "Heart Rate")
    #expect(AssignedNames.uuid("6E400001-B5A3-F393-E0A9-E50E24DCCA9E") == "Nordic UART Service")
    #expect(AssignedNames.uuid("FFFF") == nil && AssignedNames.uuid("12345678-1234-1234-1234-123456789ABC") == nil)
    #expect(AssignedNames.company(0x004C) == "Apple, Inc." && AssignedNames.company(0xFFFE) == nil)
    #expect(AssignedNames.appearance(0x00C1) == "Sports Watch" && AssignedNames.appearance(0x00FF) == "Generic Watch")
  }
}
