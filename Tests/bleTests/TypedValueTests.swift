import BLETwin
import BLEWire
import TestSupport
import Testing
import ToolCore

@testable import BLETrace
@testable import ble

/// Values as people type them.
struct TypedValueTests {
  @Test(arguments: [
    ("hex:01:ff 0A", "01ff0a"), ("01:ff", "01ff"), ("", ""), ("empty", ""), ("hex:01 ff", "01ff"), ("hex:", ""),
    ("text:hé", "68c3a9"),
    ("utf8:hé", "68c3a9"), ("text:", ""), ("text:int16:1", "696e7431363a31"), ("text: on ", "206f6e20"),
    ("\"on\"", "6f6e"), ("\"\"", ""), ("\"64\"", "3634"), ("61 62 63 64 \"abcd\"", "61626364"),
    ("int16:2150", "6608"), ("int16:-1", "ffff"), ("int16be:2150", "0866"), ("uint8:1,2, 255", "0102ff"),
    ("uint16:0x0866", "6608"), ("uint24:65536", "000001"), ("int24:-2", "feffff"), ("uint32be:1", "00000001"),
    ("int64:-9223372036854775808", "0000000000000080"), ("uint64:18446744073709551615", "ffffffffffffffff"),
    ("uint48:1", "010000000000"), ("float32:21.5", "0000ac41"), ("float32be:-0", "80000000"),
    ("float64:1", "000000000000f03f"), ("int8:-128", "80"), ("uint56:1", "01000000000000"), ("int40:-1", "ffffffffff"),
  ])
  func takesOctetsTextAndNumbersForAnyType(text: String, octets: String) throws {
    for uuid in [nil, "2A6E", "FFF1", "2A00"] as [BluetoothUUID?] {
      #expect(try TypedValue.octets(text, of: uuid)[...].hexadecimal == octets)
    }
  }

  @Test(arguments: [
    ("0", "no value"), ("0g", "no value. Write pairs of hexadecimal digits, text:… or a number"), ("text", "no value"),
    ("21.5 °C", "no value"), ("\"", "no value"), ("itn16:5", "Did you mean int16:…?"),
    ("texte:a", "Did you mean text:…?"),
    ("hex:0", "'0' is not pairs"), ("int16:40000", "'40000' is no int16: it takes -32768 to 32767"),
    ("uint8:-1", "0 to 255"), ("uint8:1,,2", "'' is no uint8"), ("int16:", "'' is no int16"), ("uint8:1.5", "no uint8"),
    ("uint64:18446744073709551616", "0 to 18446744073709551615"), ("int64:9223372036854775808", "9223372036854775807"),
    ("uint24:16777216", "0 to 16777215"), ("int24:8388608", "-8388608 to 8388607"), ("float32:x", "no float32"),
    ("61 62 63 64 \"abce\"", "no value"), ("\u{1B}[2J", "'\\u{1B}[2J' is no value"),
  ])
  func otherTextIsAnError(text: String, reason: String) {
    let error = #expect(throws: ToolError.self) { try TypedValue.octets(text, of: nil) }
    #expect(error?.status == 65 && error?.description.contains(reason) == true, "\(error?.description ?? "")")
  }

  @Test func aValueHasAtMost512Octets() throws {
    #expect(try TypedValue.octets(String(repeating: "00", count: 512), of: nil).count == 512)
    for text in [String(repeating: "00", count: 513), "text:" + String(repeating: "x", count: 513)] {
      let error = #expect(throws: ToolError.self) { try TypedValue.octets(text, of: nil) }
      #expect(error?.description == "a value has at most 512 octets, not 513 or more")
    }
  }

  /// Text, type and octets; other forms of one value are first, the printed one is last.
  @Test(arguments: [
    ("21.5 °C", "2A6E", "6608"), ("21.50°C", "2A6E", "6608"), ("-10 °C", "2A6E", "18fc"), ("unknown", "2A6E", "0080"),
    ("327.67 °C", "2A6E", "ff7f"), ("40.99 %", "2A6F", "0310"), ("1000 Pa", "2A6D", "10270000"),
    ("-3.25 m", "2A6C", "bbfeff"), ("12 °C", "2A7B", "0c"), ("90 °", "2A71", "2823"), ("3.5 W/m²", "2A77", "2300"),
    ("100 %", "2A19", "64"), ("87%", "2A19", "57"), ("-4 dBm", "2A07", "fc"), ("Mild Alert", "2A06", "01"),
    ("chest", "2A38", "01"), ("72 bpm", "2A8D", "48"), ("every 60 s", "2A21", "3c00"),
    ("Generic Heart Rate Sensor", "2A01", "4003"), ("notifications, indications", "2902", "0300"),
    ("off", "2902", "0000"),
    ("input report 1", "2908", "0101"), ("36.5 °C", "2A1C", "006d0100ff"), ("98.3 °F", "2A1C", "01d70300ff"),
    ("72 bpm", "2A37", "0048"), ("72 bpm, skin contact", "2A37", "0648"), ("328 bpm", "2A37", "014801"),
    ("80 bpm, skin contact, 10 kJ", "2A37", "0e500a00"), ("80 bpm, RR 1000 2000 ms", "2A37", "105000040008"),
    ("80 bpm, RR 63999 ms", "2A37", "1050ffff"), ("2026-01-31 12:00:00", "2A08", "ea07011f0c0000"),
    ("2026-01-31T12:00:00", "2A2B", "ea07011f0c0000000000"), ("\"kitchen\"", "2A3D", "6b69746368656e"),
    ("resolution is supported", "2AA6", "01"),
  ])
  func takesAValueAsItIsPrinted(text: String, uuid: String, octets: String) throws {
    #expect(try TypedValue.octets(text, of: BluetoothUUID(uuid))[...].hexadecimal == octets)
  }

  /// Digits of a number that a client means, which are too few or too many octets.
  @Test(arguments: [
    (
      "19", "2A6E",
      "'19' is 1 octet, and Temperature has 2 octets. For a number write '19 °C'; octets of any length are"
    ),
    ("45", "2A6F", "'45' is 1 octet, and Humidity has 2 octets. For a number write '45 %'"),
    ("60", "2A21", "For a number write uint16:60"),
    ("6608ff", "2A6E", "such as 0.00 °C; octets of any length are hex:…"),
  ])
  func digitsOfAnotherLengthThanTheCharacteristicAreAnError(text: String, uuid: String, reason: String) throws {
    let type = BluetoothUUID(uuid)
    let error = #expect(throws: ToolError.self) { try TypedValue.octets(text, of: type) }
    #expect(error?.status == 65 && error?.description.contains(reason) == true, "\(error?.description ?? "")")
    #expect(try TypedValue.octets("hex:\(text)", of: type)[...].hexadecimal == text)
    #expect(try TypedValue.octets("", of: type).isEmpty && TypedValue.octets(text, of: "FFF1")[...].hexadecimal == text)
  }

  /// What `ble read` prints of a value is the value again, or an error: never another value.
  @Test func aPrintedValueIsNeverAnotherOne() throws {
    var random = SplitMix64(seed: 7)
    var taken = 0
    for number in Array(UInt16(0x2A00)...0x2A60) + [
      0x2A6C, 0x2A6D, 0x2A6E, 0x2A6F, 0x2A72, 0x2A77, 0x2A79, 0x2A8D, 0x2902,
    ] {
      for count in 1...4 {
        let octets = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
        guard let text = ValueText.decoded(octets[...], of: number),
          let typed = try? TypedValue.octets(text, of: BluetoothUUID(number))
        else { continue }
        taken += 1
        #expect(ValueText.text(typed[...], of: BluetoothUUID(number)) == text, "\(number) \(octets)")
      }
    }
    #expect(taken > 12)
  }

  @Test(arguments: [
    ("328 °C", "2A6E", "328 °C is not in the range of the characteristic: -273.15 °C to 327.67 °C"),
    ("101 %", "2A6F", "0.00 % to 100.00 %"),
    ("1000", "2A19", "'1000' is 2 octets, and Battery Level has 1 octet. Write it as ble read prints it, such as 0 %"),
    ("150 %", "2A19", "'150 %' is no value of Battery Level. Write it as ble read prints it, such as 0 %"),
    ("21.5", "2A6E", "such as '21.5 °C', or as pairs"), ("400", "2A6E", "such as 0.00 °C"),
    ("21.5 K", "2A6E", "no value of Temperature"),
    ("1e3 °C", "2A6E", "no value of Temperature"),
    ("nan °C", "2A6E", "no value of Temperature"), ("5", "2A76", "no value. Write pairs"),
    ("5", "2A76", "such as uint8:5"), ("22.5", "2A58", "such as uint16:22"), ("22.5", "FFF1", "such as float32:22.5"),
    ("255", "FFF1", "such as int16:255"), ("open", "FFF1", "text:open or a number"),
    ("kitchen", "2A3D", "such as \"text\""),
    ("2026-13-31 12:00:00", "2A08", "such as 2026-01-31 12:00:00"), ("72 bpm, sitting", "2A37", "such as 72 bpm"),
    ("70000 bpm", "2A37", "such as 72 bpm"), ("80 bpm, RR 64000 ms", "2A37", "no value"),
    ("knee", "2A38", "such as other"),
    ("99999999999999999999999999999999999999999999999999 °C", "2A6E", "not in the range"),
  ])
  func anImpossibleValueSaysWhatTheCharacteristicTakes(text: String, uuid: String, reason: String) {
    let error = #expect(throws: ToolError.self) { try TypedValue.octets(text, of: BluetoothUUID(uuid)) }
    #expect(error?.status == 65 && error?.description.contains(reason) == true, "\(error?.description ?? "")")
  }
}
