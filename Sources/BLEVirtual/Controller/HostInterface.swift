internal import BLEHCI
internal import BLEWire

/// The packets from a controller to its host: events that the event masks allow, answers to commands, and ACL data.
///
/// The parts of the controller report to the host through this interface. They receive it as an argument, like the
/// ``VirtualRadioContext`` with the output.
struct HostInterface: Sendable {
  /// The controller.
  let id: ControllerID
  /// Num_HCI_Command_Packets of each answer to a command.
  private let commandCredits: UInt8
  private var eventMask = HCI.EventMask.standard
  private var eventMaskPage2: HCI.EventMaskPage2 = []
  private var leEventMask = HCI.LEEventMask.standard

  init(of id: ControllerID, commandCredits: UInt8) {
    self.id = id
    self.commandCredits = commandCredits
  }

  // MARK: Event masks (Vol 4, Part E, 7.3.1, 7.3.69 and 7.8.1)

  mutating func reset() { self = Self(of: id, commandCredits: commandCredits) }

  mutating func setEventMask(_ mask: HCI.EventMask) { eventMask = mask }

  mutating func setEventMaskPage2(_ mask: HCI.EventMaskPage2) { eventMaskPage2 = mask }

  mutating func setLEEventMask(_ mask: HCI.LEEventMask) { leEventMask = mask }

  /// Whether the masks allow the event. Command Complete, Command Status and Number Of Completed Packets have no bit.
  func allows(_ code: HCIEventCode) -> Bool {
    switch code {
    case .commandComplete, .commandStatus, .numberOfCompletedPackets: true
    case .authenticatedPayloadTimeoutExpired: eventMaskPage2.contains(.authenticatedPayloadTimeoutExpired)
    case .encryptionChangeV2: eventMaskPage2.contains(.encryptionChangeV2)
    default:
      code.rawValue > 0 && code.rawValue <= 64 && eventMask.rawValue >> UInt64(code.rawValue - 1) & 1 == 1
    }
  }

  func allows(_ code: LESubeventCode) -> Bool { eventMask.contains(.leMeta) && leEventMask.contains(code) }

  // MARK: Events

  /// Sends an event that the masks allow.
  ///
  /// - Returns: whether it was sent.
  @discardableResult
  func send<Event: HCIEventParameters>(_ event: Event, _ context: inout VirtualRadioContext) -> Bool {
    guard allows(Event.eventCode) else { return false }
    context.output.append(to: id) { $0.append(hci: event) }
    return true
  }

  /// Sends an LE meta event that both masks allow.
  ///
  /// - Returns: whether it was sent.
  @discardableResult
  func send<Event: LEEventParameters>(_ event: Event, _ context: inout VirtualRadioContext) -> Bool {
    guard allows(Event.subeventCode) else { return false }
    context.output.append(to: id) { $0.append(hci: event) }
    return true
  }

  /// Sends octets unchanged, for a fault.
  func send(octets: some Sequence<UInt8>, _ context: inout VirtualRadioContext) {
    context.output.append(to: id) { $0 += octets }
  }

  // MARK: Answers to commands

  /// Sends Command Complete.
  func complete(_ opcode: HCIOpcode, _ response: some ReturnParameters, _ context: inout VirtualRadioContext) {
    send(
      HCI.CommandComplete {
        $0.numHCICommandPackets = commandCredits
        $0.opcode = opcode
        $0.returnParameters = response.encoded[...]
      }, &context)
  }

  /// Sends Command Status.
  func sendStatus(_ opcode: HCIOpcode, _ status: HCIErrorCode, _ context: inout VirtualRadioContext) {
    send(
      HCI.CommandStatus {
        $0.status = status
        $0.numHCICommandPackets = commandCredits
        $0.opcode = opcode
      }, &context)
  }

  /// Rejects a command with Command Status or Command Complete.
  func refuse(
    _ opcode: HCIOpcode, _ status: HCIErrorCode, byStatus: Bool, _ context: inout VirtualRadioContext
  ) {
    if byStatus {
      sendStatus(opcode, status, &context)
    } else {
      complete(opcode, HCI.StatusResponse { $0.status = status }, &context)
    }
  }

  // MARK: ACL data

  /// Sends ACL data in fragments of at most `size` octets. Once the buffers of the output are warm, nothing is
  /// allocated.
  ///
  /// - Returns: the number of fragments, at least one.
  func send(
    _ data: Span<UInt8>, isStart: Bool, on handle: ConnectionHandle, size: Int, _ context: inout VirtualRadioContext
  ) -> Int {
    var (offset, fragments) = (0, 0)
    repeat {
      let count = min(size, data.count - offset)
      let piece = data.extracting(offset..<(offset + count))
      let flag: UInt16 = isStart && offset == 0 ? 0b10 : 0b01
      context.output.append(to: id) {
        $0.append(0x02)
        $0.append(littleEndian: handle.rawValue | flag << 12)
        $0.append(littleEndian: UInt16(truncatingIfNeeded: count))
        $0.append(copying: piece)
      }
      offset += count
      fragments += 1
    } while offset < data.count
    return fragments
  }

  /// Sends Number Of Completed Packets for one packet of a link (Vol 4, Part E, 7.7.19).
  func sendCompleted(on handle: ConnectionHandle, _ context: inout VirtualRadioContext) {
    context.output.append(to: id) {
      $0.append(0x04)
      $0.append(HCIEventCode.numberOfCompletedPackets.rawValue)
      $0.append(5)
      $0.append(1)
      $0.append(littleEndian: handle.rawValue)
      $0.append(littleEndian: UInt16(1))
    }
  }
}
