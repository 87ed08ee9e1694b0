import BLEWire
import ESPHomeAPI
import ESPHomeProxy
import Foundation
import Testing
import ToolCore

@testable import ble

/// What `ble proxy` reads: addresses, keys, policies.
@Suite struct ProxyCommandTests {
  private func arguments(_ words: String...) throws -> ParsedArguments {
    try ParsedArguments(ProxyCommand.declaration, words)
  }

  @Test func addressesOfAServer() throws {
    let examples: [(String, String?, UInt16)] = [
      ("6053", nil, 6053), ("_:0", nil, 0), ("127.0.0.1:1", "127.0.0.1", 1), ("[fd00::1]:6053", "fd00::1", 6053),
    ]
    for (text, host, port) in examples {
      let address = try #require(ListenAddress(text, defaultHost: "_"))
      #expect(address.host == host && address.port == port)
    }
    for text in ["", ":6053", "host", "host:x", "host:65536", "host:+1", "fd00::1:6053", "[]:6053"] {
      #expect(ListenAddress(text, defaultHost: "_") == nil)
    }
  }

  @Test func aKeyIsReadFromAPrivateFileOnly() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "proxy-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "key").path
    let text = String(repeating: "A", count: 43) + "="
    func write(_ text: String, _ permissions: Int) {
      try? FileManager.default.removeItem(atPath: file)
      _ = FileManager.default.createFile(
        atPath: file, contents: Data(text.utf8), attributes: [.posixPermissions: permissions])
    }
    write("\(text)\n", 0o600)
    #expect(try ProxyKeyFile.read(file) == NoiseKey(base64: text))
    write(text, 0o640)
    #expect { try ProxyKeyFile.read(file) } throws: { "\($0)".contains("chmod 600 \(file)") }
    write("no key", 0o600)
    #expect { try ProxyKeyFile.read(file) } throws: { "\($0)".contains("openssl rand -base64 32") }
    try FileManager.default.removeItem(atPath: file)
    #expect { try ProxyKeyFile.read(file) } throws: { "\($0)".contains("there is no key file \(file)") }
  }

  @Test func policiesOfPairing() throws {
    for words in [["off"], ["just-works"], ["123456", "C0:11:22:33:44:55=000001"], ["compare"]] {
      _ = try ProxyPairing(try policies(words))
    }
    for text in ["12345", "1234567", "12345a", "address=123456", "C0:11:22:33:44:55=1", "=123456"] {
      #expect(throws: ToolError.self) { _ = try ProxyPairing(try policies([text])) }
    }
  }

  private func policies(_ policies: [String]) throws -> ParsedArguments {
    try ParsedArguments(ProxyCommand.declaration, policies.flatMap { ["--pairing", $0] })
  }

  @Test func theAnnouncementHasTheRecordsOfESPHome() {
    let identity = ProxySession.Identity(
      name: "attic", address: BD_ADDR(0xD0CA_3201_0203), version: "1", isEncrypted: true)
    let text = Announcement.text(identity, port: 6053)
    for part in [
      "<type>_esphomelib._tcp</type>", "<port>6053</port>", "<txt-record>mac=d0ca32010203</txt-record>",
      "<txt-record>api_encryption=Noise_NNpsk0_25519_ChaChaPoly_SHA256</txt-record>",
    ] {
      #expect(text.contains(part))
    }
  }
}
