import BLEHCI
import BLEHost
import BLEL2CAP
import BLESMP
import BLEWire
import Testing

@testable import BLEKernel

/// A translator with its time and its output: the fixture of these tests. The test plays the driver.
struct TranslatorStage {
  static let adapter = AdapterInformation(
    index: 0, address: BD_ADDR(0x00AA_0100_0000), supported: [.powered, .lowEnergy], current: [.powered, .lowEnergy])
  static let handle = ConnectionHandle(rawValue: 0x0040)
  static let peer = DeviceAddress(octets: BD_ADDR(0x00AA_0101_0001), kind: .public)

  var translator: KernelTranslator
  var now = Instant.start
  private var output = KernelOutput()

  init(
    _ adapter: AdapterInformation = Self.adapter, hasListener: Bool = true, isPairedByDaemon: Bool = false
  ) {
    translator = KernelTranslator(
      adapter, named: "linux:hci0", hasListener: hasListener, isPairedByDaemon: isPairedByDaemon)
  }

  /// What one call of the translator has made.
  struct Result: Equatable {
    enum Input: Equatable {
      case packet([UInt8])
      case sentCommand([UInt8])
      case report(KernelReport)
    }

    var input: [Input] = []
    var actions: [SocketAction] = []
    /// The messages of the actions that send.
    var messages: [[UInt8]] = []
    var notices: [String] = []
    var loss: AdapterLoss?

    var packets: [[UInt8]] { input.compactMap { if case .packet(let octets) = $0 { octets } else { nil } } }
    var reports: [KernelReport] { input.compactMap { if case .report(let report) = $0 { report } else { nil } } }
    var isEmpty: Bool { self == Result() }
  }

  /// Takes the output of the calls since the last time.
  mutating func take() -> Result {
    var (result, index) = (Result(), 0)
    for item in output.input.items {
      switch item {
      case .report(let report): result.input.append(.report(report))
      case .packet:
        result.input.append(.packet(Array(output.input.octets[index])))
        index += 1
      case .sentCommand:
        result.input.append(.sentCommand(Array(output.input.octets[index])))
        index += 1
      }
    }
    output.input.removeAll()
    result.actions = output.actions.actions
    result.messages = (0..<output.actions.octets.count).map { Array(output.actions.octets[$0]) }
    output.actions.removeAll()
    result.notices = output.takeNotices()
    result.loss = output.loss
    return result
  }

  mutating func event(_ octets: [UInt8]) -> Result {
    translator.receive(event: octets.span, now: now, into: &output)
    return take()
  }

  mutating func event(_ event: some HCIEventParameters) -> Result {
    var octets: [UInt8] = []
    octets.append(hci: event)
    return self.event(octets)
  }

  mutating func management(_ octets: [UInt8]) -> Result {
    translator.receive(management: octets.span, now: now, into: &output)
    return take()
  }

  mutating func management(_ event: some ManagementEvent, index: UInt16 = 0) -> Result {
    var message = ManagementMessage()
    (message.code, message.index, message.parameters) = (type(of: event).code.rawValue, index, event.encoded[...])
    return management(message.encoded)
  }

  mutating func socket(_ event: SocketEvent) -> Result {
    translator.receive(event, now: now, into: &output)
    return take()
  }

  mutating func announce(_ existing: [(handle: ConnectionHandle, peer: DeviceAddress)]) -> Result {
    translator.announce(existing, into: &output)
    return take()
  }

  mutating func pdu(_ octets: [UInt8], on handle: ConnectionHandle = Self.handle) -> Result {
    translator.receive(pdu: octets.span, on: handle, into: &output)
    return take()
  }

  mutating func send(_ packet: [UInt8]) -> Result {
    translator.send(packet.span, now: now, into: &output)
    return take()
  }

  mutating func send(_ command: some HCICommand) -> Result {
    var octets: [UInt8] = []
    octets.append(hci: command)
    return send(octets)
  }

  mutating func reject(
    _ pdu: [UInt8], _ reason: SendRejection, on handle: ConnectionHandle = Self.handle
  ) -> Result {
    translator.rejected(pdu.span, on: handle, reason, into: &output)
    return take()
  }

  mutating func perform(_ command: KernelCommand) -> Result {
    translator.perform(command, into: &output)
    return take()
  }

  /// The name of the next socket that a peer's channel has.
  mutating func channelSocket() throws -> ChannelSocketID {
    let id = translator.takeChannelSocket(on: Self.handle)
    return try #require(id)
  }

  mutating func channel(_ id: ChannelSocketID, _ event: ChannelEvent) -> Result { socket(.channel(id, event)) }

  mutating func sdu(_ octets: [UInt8], on id: ChannelSocketID) -> Result {
    translator.receive(sdu: octets.span, on: id, now: now, into: &output)
    return take()
  }

  mutating func tick(after duration: Duration) -> Result {
    now = now + duration
    translator.tick(now: now, into: &output)
    return take()
  }

  mutating func finish() -> Result {
    translator.finish(into: &output)
    return take()
  }

  /// The number of frames that are reported as completed, each link and its count.
  mutating func completed() -> [[UInt8]] {
    translator.reportCompleted(into: &output)
    return take().packets
  }

  /// LE Connection Complete.
  static func connection(
    _ role: HCI.Role, handle: ConnectionHandle = Self.handle, peer: DeviceAddress = Self.peer
  ) -> HCI.LEConnectionComplete {
    HCI.LEConnectionComplete {
      $0.connectionHandle = handle
      $0.role = role
      $0.peerAddress = peer
      $0.connectionInterval = 40
      $0.supervisionTimeout = 600
    }
  }

  /// A link with an open socket, from the listener.
  mutating func link(_ handle: ConnectionHandle = Self.handle, security: SocketSecurity? = nil) {
    _ = event(Self.connection(.peripheral, handle: handle))
    _ = socket(.accepted(handle, from: Self.peer))
    _ = socket(.security(handle, security ?? SocketSecurity(level: .low, keySize: 0)))
  }

  /// An ACL packet of the host with an ATT PDU.
  static func packet(_ pdu: [UInt8], on handle: ConnectionHandle = Self.handle, channel: UInt16 = 4) -> [UInt8] {
    var packet: [UInt8] = [HCIPacketType.aclData.rawValue]
    packet.append(littleEndian: handle.rawValue)
    packet.append(littleEndian: UInt16(4 + pdu.count))
    packet.append(littleEndian: UInt16(pdu.count))
    packet.append(littleEndian: channel)
    return packet + pdu
  }

  /// Number Of Completed Packets of one link.
  static func completed(_ count: UInt8, on handle: ConnectionHandle = Self.handle) -> [UInt8] {
    [0x04, 0x13, 0x05, 0x01, UInt8(handle.rawValue & 0xFF), UInt8(handle.rawValue >> 8), count, 0x00]
  }
}
