import BLECrypto
import BLEHCI
import BLEVirtual
import BLEWire
import Testing

/// Hosts that send anything: the radio neither traps nor loses its way.
struct FuzzTests {
  /// Octets with nothing behind them.
  @Test func randomOctets() {
    var stage = RadioStage()
    let ids = (0..<3).map { _ in stage.attach() }
    var random = RandomSource.seeded(11)
    for _ in 0..<5_000 {
      var octets = random.octets(Int.random(in: 0...40, using: &random))
      if !octets.isEmpty, Bool.random(using: &random) { octets[0] = 0x02 }
      stage.send(octets, from: ids[Int.random(in: 0..<3, using: &random)])
    }
    #expect(ids.allSatisfy { stage.radio.complaints(about: $0).count == Complaint.limit })
  }

  /// Well-framed commands with random parameters, random data, time that jumps, power that goes and comes.
  @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64]) func randomHosts(seed: UInt64) throws {
    let pacings: [VirtualRadio.Pacing] = [.immediate, .connectionEvents(packetsPerEvent: 1), .airtime]
    var stage = RadioStage(seed: seed, pacing: pacings[Int(seed % 3)])
    var ids = (0..<4).map { index in
      stage.attach { if index > 0 { $0.connectionIntervals = VirtualConnectionIntervals() } }
    }
    var random = RandomSource.seeded(seed)
    let opcodes = HCI.SupportedCommands.all.opcodes
    for _ in 0..<4_000 {
      let index = Int.random(in: 0..<ids.count, using: &random)
      let id = ids[index]
      switch Int.random(in: 0..<20, using: &random) {
      case 0: stage.run(for: .milliseconds(Int64.random(in: 0...3000, using: &random)))
      case 1 where ids.count > 1:
        stage.detach(id)
        ids[index] = stage.attach()
      case 2: tryToConnect(id, to: ids[(index + 1) % ids.count], &stage)
      case 3...8:
        let data = random.octets(Int.random(in: 0...30, using: &random))
        let head: [UInt8] = [
          UInt8.random(in: 0x40...0x50, using: &random), UInt8.random(in: 0...0x3, using: &random) << 4,
        ]
        stage.send([0x02] + head + [UInt8(data.count), 0x00] + data, from: id)
      default:
        let opcode = opcodes[Int.random(in: 0..<opcodes.count, using: &random)]
        let parameters =
          lengths[opcode].map { random.octets($0) } ?? random.octets(Int.random(in: 0...70, using: &random))
        let small = parameters.map { Bool.random(using: &random) ? $0 & 0x03 : $0 }
        let head = [UInt8(opcode.rawValue & 0xFF), UInt8(opcode.rawValue >> 8), UInt8(small.count)]
        stage.send([0x01] + head + small, from: id)
      }
    }
    // Every controller still answers.
    for id in ids {
      _ = stage.take(id)
      stage.send(HCI.Reset(), from: id)
      #expect(stage.take(id).last == FaultTests.complete)
    }
  }

  /// A sane beginning now and then, so that there are links to be insane on.
  private func tryToConnect(_ central: ControllerID, to peripheral: ControllerID, _ stage: inout RadioStage) {
    stage.send(HCI.Reset(), from: central)
    stage.unmask(central)
    stage.send(HCI.LESetAdvertisingParameters(), from: peripheral)
    stage.send(HCI.LESetAdvertisingEnable { $0.advertisingEnable = true }, from: peripheral)
    let peer = stage.address(of: peripheral)
    stage.send(HCI.LECreateConnection { $0.peerAddress = peer }, from: central)
    stage.run(for: .seconds(2))
  }

  /// The lengths of commands whose parameters have one, so that half of the fuzz gets past the decoder.
  private let lengths: [HCIOpcode: Int] = [
    .disconnect: 3, .leSetRandomAddress: 6, .leSetAdvertisingParameters: 15, .leSetAdvertisingData: 32,
    .leSetAdvertisingEnable: 1, .leSetScanParameters: 7, .leSetScanEnable: 2, .leCreateConnection: 25,
    .leCreateConnectionCancel: 0, .leConnectionUpdate: 14, .leReadRemoteFeatures: 2, .leEnableEncryption: 28,
    .leLongTermKeyRequestReply: 18, .leLongTermKeyRequestNegativeReply: 2, .leSetDataLength: 6, .leSetPHY: 7,
    .leSetExtendedAdvertisingParameters: 25, .leSetExtendedAdvertisingEnable: 6, .leSetExtendedScanEnable: 6,
    .leAddDeviceToResolvingList: 39, .leSetAddressResolutionEnable: 1, .leSetEventMask: 8, .leRand: 0,
    .leSetPeriodicAdvertisingParameters: 7, .leSetPeriodicAdvertisingEnable: 2, .lePeriodicAdvertisingCreateSync: 14,
    .lePeriodicAdvertisingCreateSyncCancel: 0, .lePeriodicAdvertisingTerminateSync: 2,
    .leAddDeviceToPeriodicAdvertiserList: 8, .leRemoveDeviceFromPeriodicAdvertiserList: 8,
    .leSetPeriodicAdvertisingReceiveEnable: 3, .lePeriodicAdvertisingSyncTransfer: 6,
    .lePeriodicAdvertisingSetInfoTransfer: 5, .leSetPeriodicAdvertisingSyncTransferParameters: 8,
    .leSetDefaultPeriodicAdvertisingSyncTransferParameters: 6,
  ]
}
