import BLEKit
import BLETwin
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
    #expect { try ProxyKeyFile.read(file) } throws: { "\($0)".contains("chmod 600 '\(file)'") }
    write("no key", 0o600)
    #expect { try ProxyKeyFile.read(file) } throws: { "\($0)".contains("openssl rand -base64 32") }
    try FileManager.default.removeItem(atPath: file)
    #expect { try ProxyKeyFile.read(file) } throws: { "\($0)".contains("there is no key file \(file)") }
  }

  /// A private folder, gone afterwards, with a file in it.
  private func withFile(_ text: String, permissions: Int = 0o600, _ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "proxy-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "passkeys").path
    #expect(
      FileManager.default.createFile(
        atPath: file, contents: Data(text.utf8), attributes: [.posixPermissions: permissions]))
    try body(file)
  }

  private func pairing(_ words: [String]) throws -> ProxyPairing {
    try ProxyPairing(try ParsedArguments(ProxyCommand.declaration, words[...]))
  }

  @Test func policiesOfPairing() throws {
    for word in ["off", "just-works", "compare"] { _ = try pairing(["--pairing", word]) }
    // Every user can read the arguments of a program; the error does not repeat them.
    for text in ["123456", "C0:11:22:33:44:55=123456"] {
      let error = try #require(throws: ToolError.self) { try pairing(["--pairing", text]) }
      #expect(error.status == 64 && error.description.contains("--passkeys FILE"))
      #expect(!error.description.contains(text))
    }
  }

  @Test func passkeysAreInAFile() throws {
    func address(_ number: UInt64, _ kind: DeviceAddress.Kind) -> DeviceAddress {
      DeviceAddress(octets: BD_ADDR(number), kind: kind)
    }
    let (lock, lamp) = (0xC011_2233_4455 as UInt64, 0xC011_2233_4466 as UInt64)
    try withFile("# the lock\nC0:11:22:33:44:55=000001\n\nC0:11:22:33:44:66-random=123456") { file in
      let pairing = try pairing(["--passkeys", file])
      #expect(pairing.isAnswered(.enterPasskey, of: address(lock, .random)))
      #expect(pairing.isAnswered(.enterPasskey, of: address(lock, .public)))
      #expect(pairing.isAnswered(.enterPasskey, of: address(lamp, .random)))
      #expect(!pairing.isAnswered(.enterPasskey, of: address(lamp, .public)))
    }
    try withFile("654321\n") { file in
      let pairing = try pairing(["--passkeys", file])
      #expect(pairing.isAnswered(.enterPasskey, of: address(lamp, .public)))
    }
    // The credential of a unit whose file is missing.
    try withFile("") { file in
      let pairing = try pairing(["--passkeys", file])
      #expect(!pairing.isAnswered(.enterPasskey, of: address(lamp, .public)))
    }
  }

  @Test(arguments: ["12345", "1234567", "12345a", "address=123456", "C0:11:22:33:44:55=1", "=123456", " 123456"])
  func aLineThatIsNoPasskeyIsNotRepeated(line: String) throws {
    try withFile("000000\n\(line)\n") { file in
      let error = try #require(throws: ToolError.self) { try pairing(["--passkeys", file]) }
      #expect(error.status == 65 && error.description.hasPrefix("\(file):2: six digits or ADDRESS=DIGITS"))
      #expect(!error.description.contains(line))
    }
  }

  @Test(arguments: [0o640, 0o604]) func passkeysThatOthersCanReadAreRefused(permissions: Int) throws {
    try withFile("123456\n", permissions: permissions) { file in
      let error = try #require(throws: ToolError.self) { try pairing(["--passkeys", file]) }
      #expect(error.status == 66 && error.description.contains("chmod 600 '\(file)'"))
    }
  }

  /// A description is no secret, unless it has a passkey.
  @Test func aDescriptionWithAPasskeyThatOthersCanReadIsRefused() throws {
    let text = #"{"name": "Lock", "services": []}"#
    try withFile(text, permissions: 0o644) { _ = try ServiceDescription(file: $0) }
    let secret = #"{"name": "Lock", "passkey": "123456", "services": []}"#
    try withFile(secret) { file in
      let description = try ServiceDescription(file: file)
      #expect(description.passkey == 123_456)
    }
    try withFile(secret, permissions: 0o644) { file in
      let error = try #require(throws: ToolError.self) { try ServiceDescription(file: file) }
      #expect(error.description.hasPrefix("the description with a passkey \(file) is refused"))
      #expect(error.status == 66 && error.description.contains("chmod 600 '\(file)'"))
    }
  }

  @Test(arguments: [0, 1]) func aSecretHasAsManyOctetsAsTheLimitAtMost(more: Int) throws {
    try withFile(String(repeating: "#", count: SecretFile.sizeLimit + more)) { file in
      if more == 0 {
        let octets = try SecretFile.read(file, "file", remedy: "")
        #expect(octets.count == SecretFile.sizeLimit)
      } else {
        let error = try #require(throws: ToolError.self) { try SecretFile.read(file, "file", remedy: "") }
        #expect(error.status == 65)
      }
    }
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
