import BLEWire
import Testing
import ToolCore

@testable import ble

/// `ble bonds --remove NAME`.
struct BondNamesTests {
  private static func device(_ number: UInt64) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 + number), kind: .random)
  }

  private static let names = [
    device(1): "Lamp", device(2): "Lock", device(3): "Lock", device(4): "Bell\u{7}", device(5): "C0:11:22:33:44",
  ]

  private static func named(_ text: String, _ names: [DeviceAddress: String] = names) throws -> String {
    let word = try PairCommand.named(text, names, of: Array(names.keys) + [device(9)])
    return "\(word.octets)"
  }

  @Test(arguments: [("Lamp", 1), ("Bell\u{7}", 4), ("Bell\\u{7}", 4), ("C0:11:22:33:44", 5)])
  func aNameChoosesItsDevice(text: String, number: UInt64) throws {
    #expect(try Self.named(text) == "\(Self.device(number).octets)")
  }

  @Test func aNameThatSeveralDevicesHaveChoosesNone() {
    let error = #expect(throws: ToolError.self) { try Self.named("Lock") }
    #expect(
      error?.description
        == "2 devices have the name 'Lock'. Remove one by its address: C0:00:00:00:00:02-random, "
        + "C0:00:00:00:00:03-random"
    )
    #expect(error?.status == 64)
  }

  /// A name is exact: nothing is removed by a part of it, or in another case.
  @Test(arguments: ["lamp", "Lam", "Lamp ", ""]) func anotherNameChoosesNone(text: String) {
    let error = #expect(throws: ToolError.self) { try Self.named(text) }
    #expect(error?.status == 68)
    #expect(
      error?.description
        == "no bond and no remembered device has the name '\(text)'; they are with: C0:00:00:00:00:01-random 'Lamp', "
        + "C0:00:00:00:00:02-random 'Lock', C0:00:00:00:00:03-random 'Lock', C0:00:00:00:00:04-random 'Bell\\u{7}', "
        + "C0:00:00:00:00:05-random 'C0:11:22:33:44', C0:00:00:00:00:09-random")
  }

  @Test func aMisspeltAddressIsNoName() {
    let error = #expect(throws: ToolError.self) { try Self.named("C0-00-00-00-00-01") }
    #expect(error?.status == 64 && error?.description.contains("C0:00:00:00:00:01") == true)
  }
}
