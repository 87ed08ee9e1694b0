import BLEHCI
import BLEWire
import Testing

@testable import BLEKernel

/// The kernel's discovery that a scan starts.
@Suite struct KernelDiscoveryTests {
  static let probe: [UInt8] = [0x01, 0x03, 0x20, 0x00]
  static let stop: [UInt8] = [0x24, 0x00, 0x00, 0x00, 0x01, 0x00, 0x06]

  static let discovering = {
    var event = Management.Discovering()
    (event.addressTypes, event.isDiscovering) = (6, 1)
    return event
  }()

  static func completed<Command: HCICommand>(_ command: Command.Type) -> HCI.CommandComplete {
    HCI.CommandComplete {
      $0.opcode = Command.opcode
      $0.returnParameters = Command.Response().encoded[...]
    }
  }

  static func scan(_ isOn: Bool, _ stage: inout TranslatorStage) -> TranslatorStage.Result {
    _ = stage.send(HCI.LESetScanEnable { $0.scanEnable = isOn })
    return stage.event(completed(HCI.LESetScanEnable.self))
  }

  @Test func stopsTheDiscoveryOnceTheKernelHasSeenTheEndOfTheScan() {
    var stage = TranslatorStage()
    for _ in 0..<2 {
      #expect(Self.scan(true, &stage).actions.isEmpty)
      #expect(stage.management(Self.discovering).isEmpty)
      let ended = Self.scan(false, &stage)
      #expect(ended.messages == [Self.probe])
      #expect(ended.input.last == .sentCommand(Self.probe))
      #expect(!stage.translator.isFinished)
      let answered = stage.event(Self.completed(KernelDiscovery.Probe.self))
      #expect(answered.actions == [.sendManagement] && answered.messages == [Self.stop])
      #expect(stage.translator.isFinished)
    }
    #expect(stage.management(Self.discovering).isEmpty, "another program's discovery")
  }

  @Test func stopsADiscoveryThatIsReportedAfterTheScan() {
    var stage = TranslatorStage()
    _ = Self.scan(true, &stage)
    #expect(Self.scan(false, &stage).actions.isEmpty)
    #expect(stage.management(Self.discovering).messages == [Self.probe])
    #expect(stage.event(Self.completed(KernelDiscovery.Probe.self)).messages == [Self.stop])
  }

  @Test func keepsTheDiscoveryOfAScanThatStartsAgain() {
    var stage = TranslatorStage()
    _ = Self.scan(true, &stage)
    _ = stage.management(Self.discovering)
    _ = Self.scan(false, &stage)
    _ = Self.scan(true, &stage)
    #expect(stage.event(Self.completed(KernelDiscovery.Probe.self)).actions.isEmpty, "the scan goes on")
    #expect(Self.scan(false, &stage).messages == [Self.probe], "the kernel reports no second discovery")
    #expect(stage.event(Self.completed(KernelDiscovery.Probe.self)).messages == [Self.stop])
  }

  @Test func sendsTheProbeWhenTheAdapterIsClosedAfterAScan() {
    var stage = TranslatorStage()
    _ = stage.send(HCI.LESetExtendedScanEnable { $0.enable = true })
    _ = stage.management(Self.discovering)
    _ = stage.send(HCI.LESetExtendedScanEnable { $0.enable = false })
    #expect(stage.finish().messages == [Self.probe])
    #expect(!stage.translator.isFinished)
    #expect(stage.finish().isEmpty)
    _ = stage.event(Self.completed(KernelDiscovery.Probe.self))
    #expect(stage.translator.isFinished)
  }

  @Test func ignoresTheRejectionOfTheStop() {
    var stage = TranslatorStage()
    var status = Management.CommandStatus()
    (status.opcode, status.status) = (Management.StopDiscovery.opcode, .rejected)
    #expect(stage.management(status).isEmpty)
    status.opcode = Management.UnpairDevice.opcode
    #expect(
      stage.management(status).notices == [
        "linux:hci0: the kernel rejected Unpair Device (0x001B): Rejected (0x0B)"
      ])
  }
}
