import AdapterFixtures
import BLEHCI
import BLEHost
import BLEL2CAP
import BLEWire
import BluetoothLE
import Synchronization
import Testing

@testable import CoreBluetoothTypes

/// Behaviour rules, section 9: channels that centrals open.
@Suite struct PublishedChannelTests {
  private let fixture = PeripheralFixture()
  private let psm = SPSM(rawValue: 0x0080)
  private let id = L2CAPChannelID(rawValue: 5)

  private func listenIDs() -> [ListenID] {
    fixture.host.commands.compactMap { if case .channels(.listen(let id, _)) = $0 { id } else { nil } }
  }

  private func publish() throws {
    fixture.manager.publishL2CAPChannel(withEncryption: false)
    fixture.say(.channels(.listening(try #require(listenIDs().last), .success(psm))))
    _ = fixture.takeCalls()
    _ = fixture.host.takeCommands()
  }

  private func open(_ central: Central) {
    let opened = OpenedChannel(
      id: id, peer: central.peer, spsm: psm, isIncoming: true, localMTU: 2048, remoteMTU: 100)
    fixture.say(.channels(.opened(opened)))
  }

  @Test(
    "9 The host chooses the PSM, and withEncryption demands an encrypted link",
    arguments: [(false, "listen"), (true, "listen encrypted")])
  func theHostAssignsThePSM(_ isEncrypted: Bool, _ command: String) throws {
    fixture.manager.publishL2CAPChannel(withEncryption: isEncrypted)
    let id = try #require(listenIDs().first)
    #expect(fixture.host.takeCommands() == [command] && fixture.takeCalls() == [])
    fixture.say(.channels(.listening(id, .success(psm))))
    #expect(fixture.takeCalls() == ["didPublish 128"])
  }

  @Test func aPSMThatIsNotAssignedIsAnError() throws {
    fixture.manager.publishL2CAPChannel(withEncryption: false)
    fixture.say(
      .channels(.listening(try #require(listenIDs().first), .failure(.tooMany("services with channels", limit: 128)))))
    #expect(fixture.takeCalls() == ["didPublish 0 outOfSpace"])
  }

  @Test("9 A PSM is unpublished once, with an answer") func aPSMIsUnpublishedOnce() throws {
    try publish()
    fixture.manager.unpublishL2CAPChannel(0x80)
    #expect(fixture.host.takeCommands() == ["stop listening 128"] && fixture.takeCalls() == [])
    fixture.manager.unpublishL2CAPChannel(0x80)
    fixture.say(.channels(.stoppedListening(psm)))
    #expect(fixture.takeCalls() == ["didUnpublish 128 invalidParameters", "didUnpublish 128"])
  }

  @Test("9 A channel of a central comes with didOpen") func aChannelOfACentralIsHandedOut() throws {
    try publish()
    let central = fixture.connect(1)
    _ = fixture.takeCalls()
    open(central)
    #expect(fixture.takeCalls() == ["didOpen 128 of a central"])
    let channel = try #require(fixture.recorder.channels.last)
    #expect(channel.peer === central)
    fixture.host.say(.channel(id, .received([1, 2, 3])))
    channel.inputStream.open()
    channel.outputStream.open()
    var octets = [UInt8](repeating: 0, count: 2)
    #expect(channel.inputStream.read(&octets, maxLength: 2) == 2 && octets == [1, 2])
    #expect(channel.inputStream.read(&octets, maxLength: 2) == 1 && octets[0] == 3)
    #expect(channel.outputStream.write([9], maxLength: 1) == 1)
    #expect(fixture.host.takeCommands() == ["read 5", "send 5 09"])
  }

  /// The reports of a channel do not wait for the queue of the delegate: a program may wait for octets on it.
  @Test func aProgramMayWaitOnItsOwnQueue() throws {
    try publish()
    let central = fixture.connect(1)
    _ = fixture.takeCalls()
    let read = DispatchSemaphore(value: 0)
    let count = Mutex(0)
    fixture.recorder.react { [recorder = fixture.recorder] _, line in
      guard line.hasPrefix("didOpen"), let stream = recorder.channels.last?.inputStream else { return }
      stream.open()
      var octets = [UInt8](repeating: 0, count: 8)
      let length = stream.read(&octets, maxLength: 8)
      count.withLock { $0 = length }
      read.signal()
    }
    fixture.host.say(
      .channels(
        .opened(
          OpenedChannel(id: id, peer: central.peer, spsm: psm, isIncoming: true, localMTU: 2048, remoteMTU: 100))))
    fixture.host.say(.channel(id, .received([1])))
    read.wait()
    #expect(count.withLock { $0 } == 1)
  }

  @Test("9 A channel that the program does not retain is closed") func aReleasedChannelIsClosed() throws {
    try publish()
    open(fixture.connect(1))
    fixture.settle()
    _ = fixture.host.takeCommands()
    fixture.recorder.channels.release()
    #expect(fixture.host.takeCommands() == ["close channel 5"])
  }

  @Test func aChannelThatNoDelegateTakesIsClosed() throws {
    try publish()
    let central = fixture.connect(1)
    fixture.manager.delegate = nil
    open(central)
    #expect(fixture.host.takeCommands() == ["close channel 5"])
  }

  @Test func theEndOfTheManagerEndsItsChannels() throws {
    try publish()
    open(fixture.connect(1))
    fixture.settle()
    let channel = try #require(fixture.recorder.channels.last)
    channel.inputStream.open()
    fixture.releaseManager()
    fixture.settle()
    #expect(channel.inputStream.streamStatus == .error)
  }

  @Test func poweredOffKeepsThePSMAndResettingWithdrawsIt() throws {
    try publish()
    fixture.say(.state(.poweredOff, nil))
    #expect(fixture.host.takeCommands() == [])
    fixture.say(.state(.resetting, nil))
    #expect(fixture.host.takeCommands() == ["stop listening 128"])
    fixture.say(.channels(.stoppedListening(psm)))
    #expect(fixture.takeCalls() == ["state poweredOff", "state resetting"])
  }

  @Test func aRequestToPublishFailsWithTheAdapter() throws {
    fixture.manager.publishL2CAPChannel(withEncryption: false)
    let id = try #require(listenIDs().first)
    _ = fixture.host.takeCommands()
    fixture.say(.state(.resetting, nil))
    #expect(fixture.takeCalls() == ["state resetting", "didPublish 0 operationCancelled"])
    fixture.say(.channels(.listening(id, .success(psm))))
    #expect(fixture.host.takeCommands() == ["stop listening 128"] && fixture.takeCalls() == [])
  }
}

/// Behaviour rules, section 9: channels to peripherals.
@Suite struct OpenedChannelTests {
  private let peer = LinkID(rawValue: 1)
  private let id = L2CAPChannelID(rawValue: 5)

  private func openID(_ fixture: CentralFixture) throws -> OpenChannelID {
    try #require(
      fixture.host.commands.reversed().lazy.compactMap {
        if case .channels(.open(let id, _, _)) = $0 { id } else { nil }
      }
      .first)
  }

  private func opened(_ request: OpenChannelID) -> HostEvent {
    .channels(
      .opened(
        OpenedChannel(
          id: id, peer: peer, spsm: SPSM(rawValue: 0x80), isIncoming: false, request: request, localMTU: 2048,
          remoteMTU: 100)))
  }

  @Test("9 openL2CAPChannel is answered with the channel of the peripheral") func anOpenedChannelIsThePeripherals()
    throws
  {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    peripheral.openL2CAPChannel(0x80)
    #expect(fixture.posted() == ["open channel 1 128"])
    fixture.say(opened(try openID(fixture)))
    #expect(fixture.takeCalls() == ["opened 128"] && fixture.recorder.channels.last?.peer === peripheral)
    fixture.recorder.channels.release()
    #expect(fixture.posted() == ["close channel 5"])
  }

  @Test(
    "9 A refusal has a documented code",
    arguments: [
      (.channelRefused(.spsmNotSupported), "operationNotSupported"), (.channelRefused(.noResources), "outOfSpace"),
      (.channelRefused(.insufficientAuthentication), "ATT 0x5"),
      (.channelRefused(.insufficientAuthorization), "ATT 0x8"),
      (.channelRefused(.encryptionKeySizeTooShort), "ATT 0xc"), (.channelRefused(.insufficientEncryption), "ATT 0xf"),
      (.channelRefused(.unacceptableParameters), "unknown"), (.notSecured("no pairing"), "encryptionTimedOut"),
      (.invalidParameters("no SPSM"), "invalidParameters"), (.tooMany("channels", limit: 32), "outOfSpace"),
    ] as [(HostError, String)])
  func aRefusalHasTheDocumentedCode(_ error: HostError, _ code: String) throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    peripheral.openL2CAPChannel(0x80)
    fixture.say(.channels(.openFailed(try openID(fixture), error)))
    #expect(fixture.takeCalls() == ["opened \(code)"])
  }

  @Test func aLostBondIsTheReasonOfARefusal() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    peripheral.openL2CAPChannel(0x80)
    fixture.say(
      .bonds(.lost(peer, CentralFixture.address(1), .forgottenByPeer)),
      .channels(.openFailed(try openID(fixture), .channelRefused(.insufficientEncryption))))
    #expect(fixture.takeCalls() == ["opened peerRemovedPairingInformation"])
  }

  @Test("9 A request fails with its link, before the disconnection") func aRequestFailsWithItsLink() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    peripheral.openL2CAPChannel(0x80)
    fixture.say(
      .channels(.openFailed(try openID(fixture), .notConnected)),
      .link(peer, .disconnected(.remoteUserTerminatedConnection)))
    #expect(fixture.takeCalls() == ["opened peripheralDisconnected", "disconnected peripheralDisconnected"])
  }

  @Test func aChannelOfALostLinkIsClosed() throws {
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    peripheral.openL2CAPChannel(0x80)
    let request = try openID(fixture)
    fixture.say(.link(peer, .disconnected(.remoteUserTerminatedConnection)))
    _ = fixture.posted()
    fixture.say(opened(request))
    #expect(fixture.posted() == ["close channel 5"])
  }

  @Test func requestsThatWaitAreLimited() throws {
    var limits = CentralLimits()
    limits.pendingRequests = 2
    let fixture = CentralFixture(limits: limits)
    let peripheral = try fixture.connect(1)
    for _ in 0..<3 { peripheral.openL2CAPChannel(0x80) }
    #expect(fixture.posted().count == 2 && fixture.takeCalls() == ["opened outOfSpace"])
  }
}
