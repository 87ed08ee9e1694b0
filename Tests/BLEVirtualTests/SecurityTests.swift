import BLECrypto
import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// Encryption and the cryptographic commands: Vol 4, Part E, 7.8.22 to 7.8.26, 7.8.36 and 7.8.37.
struct SecurityTests {
  typealias Pair = LinkTests.Pair

  static let key: UInt128 = 0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10

  /// The central enables encryption; the peripheral's host is asked for the key.
  func enable(_ pair: inout Pair) throws {
    let command = HCI.LEEnableEncryption {
      $0.connectionHandle = pair.handles.central
      $0.randomNumber = 0x1122_3344_5566_7788
      $0.encryptedDiversifier = 0x99AA
      $0.longTermKey = Self.key
    }
    try pair.stage.expect(.success, for: command, from: pair.central)
    try pair.stage.expect(.commandDisallowed, for: command, from: pair.central)
    let events = try pair.events()
    #expect(events.central.isEmpty)
    #expect(
      events.peripheral == [
        HCIEvent.leLongTermKeyRequest(
          HCI.LELongTermKeyRequest {
            $0.connectionHandle = pair.handles.peripheral
            $0.randomNumber = 0x1122_3344_5566_7788
            $0.encryptedDiversifier = 0x99AA
          })
      ])
  }

  func reply(_ pair: inout Pair, _ key: UInt128?) throws {
    let handle = pair.handles.peripheral
    if let key {
      let command = HCI.LELongTermKeyRequestReply {
        $0.connectionHandle = handle
        $0.longTermKey = key
      }
      try pair.stage.expect(.success, for: command, from: pair.peripheral)
    } else {
      let command = HCI.LELongTermKeyRequestNegativeReply { $0.connectionHandle = handle }
      try pair.stage.expect(.success, for: command, from: pair.peripheral)
      try pair.stage.expect(.commandDisallowed, for: command, from: pair.peripheral)
    }
  }

  func change(_ handle: ConnectionHandle, _ status: HCIErrorCode = .success) -> HCIEvent {
    HCIEvent.encryptionChange(
      HCI.EncryptionChange {
        $0.status = status
        $0.connectionHandle = handle
        $0.encryptionEnabled = status.isSuccess ? .on : .off
      })
  }

  @Test(arguments: LinkTests.pacings) func encryptionAndKeyRefresh(_ pacing: VirtualRadio.Pacing) throws {
    var pair = try Pair(pacing)
    try enable(&pair)
    try reply(&pair, Self.key)
    let first = try pair.events()
    #expect(first.central == [change(pair.handles.central)])
    #expect(first.peripheral == [change(pair.handles.peripheral)])
    // Once more with the link encrypted: the key is refreshed.
    try enable(&pair)
    try reply(&pair, Self.key)
    let second = try pair.events()
    #expect(
      second.central
        == [
          HCIEvent.encryptionKeyRefreshComplete(
            HCI.EncryptionKeyRefreshComplete { $0.connectionHandle = pair.handles.central })
        ])
    #expect(
      second.peripheral
        == [
          HCIEvent.encryptionKeyRefreshComplete(
            HCI.EncryptionKeyRefreshComplete { $0.connectionHandle = pair.handles.peripheral })
        ])
  }

  /// No key: 0x06 to the central, the link stays; on an encrypted link it ends (Vol 6, Part B, 5.1.3.2).
  @Test(arguments: LinkTests.pacings) func negativeReply(_ pacing: VirtualRadio.Pacing) throws {
    var pair = try Pair(pacing)
    try enable(&pair)
    try reply(&pair, nil)
    let events = try pair.events()
    #expect(events.central == [change(pair.handles.central, .pinOrKeyMissing)] && events.peripheral.isEmpty)
    try enable(&pair)
    try reply(&pair, Self.key)
    _ = try pair.events()
    try enable(&pair)
    let negative = HCI.LELongTermKeyRequestNegativeReply { $0.connectionHandle = pair.handles.peripheral }
    try pair.stage.expect(.success, for: negative, from: pair.peripheral)
    let end = try pair.events()
    func over(_ handle: ConnectionHandle) -> HCIEvent {
      HCIEvent.disconnectionComplete(
        HCI.DisconnectionComplete {
          $0.connectionHandle = handle
          $0.reason = .pinOrKeyMissing
        })
    }
    #expect(end.central == [over(pair.handles.central)] && end.peripheral == [over(pair.handles.peripheral)])
  }

  @Test(arguments: LinkTests.pacings) func keysThatDiffer(_ pacing: VirtualRadio.Pacing) throws {
    var pair = try Pair(pacing)
    try enable(&pair)
    try reply(&pair, Self.key ^ 1)
    let events = try pair.events()
    func over(_ handle: ConnectionHandle) -> HCIEvent {
      HCIEvent.disconnectionComplete(
        HCI.DisconnectionComplete {
          $0.connectionHandle = handle
          $0.reason = .terminatedMICFailure
        })
    }
    #expect(events.central == [over(pair.handles.central)])
    #expect(events.peripheral == [over(pair.handles.peripheral)])
  }

  /// The host has masked the key request: the controller says no in its place.
  @Test func maskedKeyRequest() throws {
    var pair = try Pair()
    pair.stage.send(HCI.LESetEventMask { $0.eventMask = [.connectionComplete] }, from: pair.peripheral)
    let command = HCI.LEEnableEncryption { $0.connectionHandle = pair.handles.central }
    try pair.stage.expect(.success, for: command, from: pair.central)
    #expect(try pair.events().central == [change(pair.handles.central, .pinOrKeyMissing)])
  }

  @Test func whoMayDoWhat() throws {
    var pair = try Pair()
    let enable = HCI.LEEnableEncryption { $0.connectionHandle = pair.handles.peripheral }
    try pair.stage.expect(.commandDisallowed, for: enable, from: pair.peripheral)
    let reply = HCI.LELongTermKeyRequestReply { $0.connectionHandle = pair.handles.peripheral }
    try pair.stage.expect(.commandDisallowed, for: reply, from: pair.peripheral)
    let nobody = HCI.LELongTermKeyRequestReply { $0.connectionHandle = .greatest }
    try pair.stage.expect(.unknownConnectionIdentifier, for: nobody, from: pair.peripheral)
  }

  /// Data that a host sends while keys change comes out behind the change, in order (Vol 6, Part B, 5.1.3.1).
  @Test(arguments: LinkTests.pacings) func dataWaits(_ pacing: VirtualRadio.Pacing) throws {
    var pair = try Pair(pacing)
    try enable(&pair)
    for number: UInt8 in 1...3 {
      pair.stage.send([0x02] + pair.handles.central.octets + [0x01, 0x00, number], from: pair.central)
    }
    pair.stage.run(for: .seconds(1))
    #expect(pair.stage.take(pair.peripheral).isEmpty && pair.stage.take(pair.central).isEmpty)
    try reply(&pair, Self.key)
    pair.stage.run(for: .seconds(1))
    let packets = pair.stage.take(pair.peripheral)
    #expect(packets.map { $0[0] } == [0x04, 0x02, 0x02, 0x02])
    #expect(packets.filter { $0[0] == 0x02 }.map { $0.last } == [1, 2, 3])
    #expect(pair.stage.take(pair.central).filter { $0[1] == 0x13 }.count == 3)
  }

  /// Version 2 of the event, where the second page of the mask asks for it.
  @Test func encryptionChangeV2() throws {
    var pair = try Pair()
    let mask = HCI.SetEventMaskPage2 { $0.eventMask = .encryptionChangeV2 }
    try pair.stage.expect(.success, for: mask, from: pair.central)
    try enable(&pair)
    try reply(&pair, Self.key)
    let event = HCI.EncryptionChangeV2 {
      $0.connectionHandle = pair.handles.central
      $0.encryptionEnabled = .on
      $0.encryptionKeySize = 16
    }
    #expect(try pair.events().central == [.encryptionChangeV2(event)])
  }

  @Test func keyAgreement() throws {
    var stage = RadioStage()
    let ids = [stage.attach(), stage.attach()]
    var keys: [(x: Bytes, y: Bytes)] = []
    for id in ids {
      try stage.expect(.success, for: HCI.LEReadLocalP256PublicKey(), from: id)
      guard let event = try stage.metaEvents(id).first as? HCI.LEReadLocalP256PublicKeyComplete else {
        Issue.record("Read Local P-256 Public Key Complete")
        return
      }
      keys.append((event.keyXCoordinate, event.keyYCoordinate))
    }
    var secrets: [Bytes] = []
    for (id, key) in zip(ids, keys.reversed()) {
      let command = HCI.LEGenerateDHKey {
        $0.keyXCoordinate = key.x
        $0.keyYCoordinate = key.y
      }
      try stage.expect(.success, for: command, from: id)
      guard let event = try stage.metaEvents(id).first as? HCI.LEGenerateDHKeyComplete else {
        Issue.record("Generate DHKey Complete")
        return
      }
      #expect(event.status == .success)
      secrets.append(event.dhKey)
    }
    #expect(secrets[0] == secrets[1])
    // A key that is no point of the curve.
    let forged = HCI.LEGenerateDHKey {
      $0.keyXCoordinate = keys[0].x
      $0.keyYCoordinate = Bytes(repeating: 0x42, count: 32)
    }
    try stage.expect(.success, for: forged, from: ids[1])
    guard let event = try stage.metaEvents(ids[1]).first as? HCI.LEGenerateDHKeyComplete else {
      Issue.record("Generate DHKey Complete")
      return
    }
    #expect(event.status == .invalidCommandParameters)
  }

  @Test func randomNumbers() throws {
    var stage = RadioStage()
    let id = stage.attach()
    let numbers = try (0..<10).map { _ in try stage.ask(HCI.LERand(), from: id).randomNumber }
    #expect(Set(numbers).count == 10)
  }
}
