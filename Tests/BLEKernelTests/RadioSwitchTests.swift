import BLELinux
import Foundation
import Testing

@testable import BLEKernel

/// The files that the kernel shows of a radio switch.
@Suite struct RadioSwitchTests {
  @Test(arguments: [("0", "0", false), ("1", "0", true), ("0", "1", true), ("1\n", "0\n", true)])
  func oneOfTwoSwitchesBlocks(soft: String, hard: String, blocks: Bool) throws {
    let folder = try TemporaryFolder()
    let place = folder.file("hci3/rfkill7")
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    try soft.write(toFile: "\(place)/soft", atomically: false, encoding: .ascii)
    try hard.write(toFile: "\(place)/hard", atomically: false, encoding: .ascii)
    #expect(RadioSwitch.blocks(hci: 3, in: folder.path) == blocks)
    #expect(!RadioSwitch.blocks(hci: 4, in: folder.path), "another adapter")
  }

  @Test func adaptersWithoutASwitchAreNotBlocked() throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.file("hci0/power"), withIntermediateDirectories: true)
    #expect(!RadioSwitch.blocks(hci: 0, in: folder.path))
  }
}

/// A folder of a test's own, gone with the test.
private final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    path = "/tmp/ble-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { "\(path)/\(name)" }
}
