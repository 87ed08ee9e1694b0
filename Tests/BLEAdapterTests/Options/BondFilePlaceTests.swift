import AdapterFixtures
import BLELinux
import Testing

@testable import BLEAdapter

/// Where bonds are kept by default.
@Suite struct BondFilePlaceTests {
  private func store(_ transport: String, _ variables: [String: String], _ log: @escaping Log) -> any BondStore {
    PairingOptions.Storage.standard.store(
      transport: transport, program: "/usr/bin/clock", environment: { variables[$0] }, log: log)
  }

  private func path(_ transport: String, _ variables: [String: String]) -> String? {
    (store(transport, variables) { _ in } as? FileBondStore)?.path
  }

  @Test func takesTheFirstFolderThatTheUserOrSystemdNames() {
    let all = ["BLE_BONDS": "b", "STATE_DIRECTORY": "/v/lib/a:/v/lib/b", "XDG_STATE_HOME": "/s", "HOME": "/home/a"]
    func without(_ names: String...) -> [String: String] { all.filter { !names.contains($0.key) } }
    #expect(path("linux", all) == "b")
    #expect(path("linux", without("BLE_BONDS")) == "/v/lib/a/BluetoothLE/clock-linux.json")
    #expect(path("linux", without("BLE_BONDS", "STATE_DIRECTORY")) == "/s/BluetoothLE/clock-linux.json")
    #expect(
      path("tcp-client:127.0.0.1:6402", ["HOME": "/home/a"])
        == "/home/a/.local/state/BluetoothLE/clock-tcp-client_127.0.0.1_6402.json")
  }

  /// XDG Base Directory Specification: a relative path is invalid.
  @Test func passesOverFoldersThatAreNotAbsolute() {
    let relative = ["STATE_DIRECTORY": "a:/b", "XDG_STATE_HOME": "state", "HOME": "/home/a"]
    #expect(path("linux", relative) == "/home/a/.local/state/BluetoothLE/clock-linux.json")
    #expect(path("linux", ["STATE_DIRECTORY": ":", "HOME": "home"]) == nil)
  }

  @Test func aSimulatedAdapterKeepsNoFile() {
    let lines = Lines()
    #expect(store("virtual:a", ["HOME": "/home/a"]) { lines.append($0.text) } is MemoryBondStore)
    #expect(path("virtual:a", ["BLE_BONDS": "/b"]) == "/b")
    #expect(lines.take().isEmpty)
  }

  /// Any user may put a file into a temporary folder.
  @Test func withoutAFolderOfTheUserBondsStayInMemoryAndTheLogSaysSo() {
    let lines = Lines()
    #expect(store("linux", [:]) { lines.append($0.text) } is MemoryBondStore)
    let said = lines.take()
    #expect(said.count == 1 && said.first?.contains("in memory") == true && said.first?.contains("BLE_BONDS") == true)
  }
}
