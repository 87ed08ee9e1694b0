import BLEHCI
import BLEWire
import Testing
import ToolCore

@testable import BLETrace
@testable import ble

struct TraceFilterTests {
  @Test func aFilterSelectsLayersAndLinks() throws {
    let peer = try #require(DeviceAddress("C0:11:22:33:44:55", kind: .random))
    func entry(_ layer: TraceEntry.Layer, _ link: UInt16?, _ peer: DeviceAddress?) -> TraceEntry {
      TraceEntry(
        time: 0, direction: .hostToController, layer: layer, link: link.map { ConnectionHandle(rawValue: $0) },
        peer: peer,
        name: "", details: "")
    }
    let entries = [
      entry(.att, 0x40, peer), entry(.smp, 0x40, peer), entry(.att, 0x41, nil), entry(.hci, nil, nil),
      entry(.hci, 0x41, peer),
    ]
    func selected(_ words: String...) throws -> [Int] {
      let filter = try TraceFilter(ParsedArguments(LogCommand.declaration, ["file"] + words))
      return entries.indices.filter { filter.admits(entries[$0]) }
    }
    #expect(try selected() == [0, 1, 2, 3, 4])
    #expect(try selected("--layer", "att") == [0, 2] && selected("--layer=att", "--layer=smp") == [0, 1, 2])
    #expect(try selected("--link", "0x0040") == [0, 1] && selected("--link", "65") == [2, 4])
    #expect(try selected("--link", "c0:11:22:33:44:55") == [0, 1, 4])
    #expect(try selected("--link", "0x40", "--layer", "smp") == [1])
    for text in ["0x1000", "4096", "x", "0x", "-1", "C0:11"] {
      #expect(throws: ToolError.self) { try selected("--link=\(text)") }
    }
  }
}
