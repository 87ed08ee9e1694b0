import BLEHCI
import BLEWire
import Testing

@testable import ble

/// The states of a system, and the verdict and remedy of each.
struct DoctorTests {
  private static let healthy = SystemFacts(
    socketError: 0, hasModule: true, adapters: ["hci0"],
    radioSwitches: [.init(name: "hci0", isSoftBlocked: false, isHardBlocked: false)], hasNetAdmin: true,
    hasNetRaw: true, hasDaemon: false, serialDevices: [], kernelRelease: "6.12.0", program: "/usr/bin/ble")

  private static func failures(_ change: (inout SystemFacts) -> Void) -> [Check] {
    var facts = healthy
    change(&facts)
    return Diagnosis.checks(facts).filter { $0.verdict == .failure }
  }

  @Test func findsNothingWrongWithAWorkingSystem() { #expect(Self.failures { _ in }.isEmpty) }

  @Test func aKernelWithoutBluetooth() {
    let found = Self.failures { ($0.socketError, $0.hasModule) = (97, false) }
    #expect(found.map(\.name) == ["kernel"] && found.first?.remedy?.contains("modprobe bluetooth") == true)
  }

  @Test func aContainerWithoutTheFlags() {
    let found = Self.failures { $0.socketError = 97 }
    #expect(found.map(\.name) == ["kernel"])
    #expect(found.first?.remedy == "Run the container with --net host --cap-add NET_ADMIN --cap-add NET_RAW.")
  }

  @Test func aProcessWithoutCapabilities() {
    let found = Self.failures { ($0.hasNetAdmin, $0.hasNetRaw) = (false, false) }
    #expect(found.map(\.finding) == ["this process has no cap_net_raw and no cap_net_admin"])
    #expect(found.first?.remedy == "Run: sudo setcap 'cap_net_raw,cap_net_admin+eip' /usr/bin/ble")
  }

  @Test func aBlockedAdapter() {
    let soft = Self.failures { $0.radioSwitches[0].isSoftBlocked = true }
    #expect(soft.first?.remedy == "Run: sudo rfkill unblock bluetooth")
    let hard = Self.failures { $0.radioSwitches[0].isHardBlocked = true }
    #expect(hard.first?.finding == "blocked by a switch or key of the machine")
  }

  @Test func noAdapterWithAndWithoutABoard() {
    #expect(Self.failures { $0.adapters = [] }.first?.remedy?.contains("dmesg") == true)
    let board = Self.failures { ($0.adapters, $0.serialDevices) = ([], ["ttyACM0"]) }
    #expect(board.first?.remedy?.contains("serial:/dev/ttyACM0") == true)
  }

  @Test func aRaspberryPiWhoseAdapterIsDisabled() {
    let text = """
      # dtoverlay=miniuart-bt
      [all]
      dtoverlay=vc4-kms-v3d
       dtoverlay = disable-bt # until the case is closed

      """
    var board = RaspberryPi(
      configuration: "/boot/firmware/config.txt", overlays: RaspberryPi.overlays(in: text), hasAttachService: true,
      attaches: false)
    #expect(board.overlays == ["vc4-kms-v3d", "disable-bt"])
    let disabled = Self.failures { ($0.adapters, $0.raspberryPi) = ([], board) }
    #expect(disabled.map(\.remedy) == ["Remove that line, then restart the computer."])
    #expect(disabled.first?.finding.contains("dtoverlay=disable-bt in /boot/firmware/config.txt") == true)
    board.overlays = []
    let detached = Self.failures { ($0.adapters, $0.raspberryPi) = ([], board) }
    #expect(detached.map(\.remedy) == ["Run: sudo systemctl enable --now hciuart"])
    board.attaches = true
    #expect(Self.failures { ($0.adapters, $0.raspberryPi) = ([], board) }.first?.remedy?.contains("dmesg") == true)
    board.attaches = false
    #expect(Self.failures { $0.raspberryPi = board }.isEmpty, "with an adapter nothing is missing")
  }

  @Test func aRaspberryPiWhoseAdapterIsOnTheMiniUART() throws {
    let overlays = RaspberryPi.overlays(in: "dtoverlay=miniuart-bt,krnbt=on\r\n")
    var facts = Self.healthy
    facts.raspberryPi = RaspberryPi(
      configuration: "/boot/config.txt", overlays: overlays, hasAttachService: false, attaches: false)
    let check = try #require(Diagnosis.checks(facts).first { $0.name == "serial line" })
    #expect(check.verdict == .warning)
    #expect(check.remedy == "If it stops answering, write core_freq=250 into /boot/config.txt, or remove the overlay.")
  }

  @Test func aSerialLineWithoutAnAnswer() throws {
    let check = try #require(Diagnosis.serialLine("serial:/dev/ttyAMA0,3000000,rtscts"))
    #expect(check.remedy?.hasSuffix("serial:/dev/ttyAMA0,115200") == true)
    #expect(Diagnosis.serialLine("linux") == nil)
  }

  @Test func theDaemonIsNoFailureAndHasARemedyForTheUserChannel() throws {
    var facts = Self.healthy
    facts.hasDaemon = true
    let check = try #require(Diagnosis.checks(facts).first { $0.name == "bluetoothd" })
    #expect(check.verdict == .information && check.remedy?.contains("systemctl stop bluetooth") == true)
  }

  @Test func dividesAnErrorOfAnAdapterIntoFindingAndRemedy() {
    let check = Diagnosis.failure("linux:hci0: the adapter is switched off (bind: …). Run: btmgmt power on")
    #expect(
      check.finding == "linux:hci0: the adapter is switched off (bind: …)" && check.remedy == "Run: btmgmt power on")
    #expect(Diagnosis.failure("no remedy").remedy == nil)
  }

  @Test func readsTheControllerFromTheAnswersInATrace() throws {
    var version = HCI.ReadLocalVersionInformation.Response()
    (version.hciVersion, version.companyIdentifier) = (13, 0x0002)
    var complete = HCI.CommandComplete()
    complete.opcode = HCI.ReadLocalVersionInformation.opcode
    complete.returnParameters = version.encoded[...]
    var file = BTSnoopFile.header
    BTSnoopFile.append(HCIPacket.event(HCIEventPacket(complete)).encoded.span, .controllerToHost, at: 0, to: &file)
    let facts = ControllerFacts(try BTSnoopFile(file[...]))
    #expect(facts.version == "Bluetooth 5.4" && facts.manufacturer == "Intel Corp.")
    #expect(facts.checks.first?.finding == "Bluetooth 5.4, Intel Corp.")
  }
}
