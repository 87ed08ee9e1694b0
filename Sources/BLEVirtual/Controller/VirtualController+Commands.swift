internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// Decoding of packets from the host, and the answers to commands.
extension VirtualController {
  /// Receives an H4 packet from the host, except ACL data.
  mutating func receive(_ octets: Bytes, _ context: inout RadioContext) {
    guard let packet = try? HCIPacket(decoding: octets), case .command(let command) = packet else {
      complaints.append(.malformedPacket(firstOctet: octets.first))
      return
    }
    switch faults.answer(to: command.opcode, &random) {
    case nil: perform(command, &context)
    case .silence: break
    case .octets(let octets): host.send(octets: octets, &context)
    case .refusal(let status): host.refuse(command.opcode, status, &context)
    case .twice:
      let first = context.output.count
      perform(command, &context)
      if first < context.output.count { host.send(octets: context.output[first], &context) }
    }
  }

  /// Performs a command; one that the controller does not support gets Unknown HCI Command.
  private mutating func perform(_ command: HCICommandPacket, _ context: inout RadioContext) {
    guard let supported = SupportedCommand.all[command.opcode], features.supports(supported) else {
      return host.refuse(command.opcode, .unknownCommand, &context)
    }
    if let wanted = supported.commandSet {
      guard commandSet ?? wanted == wanted else { return host.refuse(command.opcode, .commandDisallowed, &context) }
      commandSet = wanted
    }
    switch command.opcode.rawValue {
    case 0x2005...0x200E, 0x2035...0x2043, 0x207F: performRadioCommand(command, &context)
    case 0x200F...0x2012, 0x2027...0x202E, 0x204E: performListCommand(command, &context)
    case 0x2017...0x201B, 0x2025, 0x2026: performSecurityCommand(command, &context)
    case 0x0401...0x0BFF, 0x2013...0x2016, 0x2020...0x2022, 0x2030...0x2032, 0x206D:
      performLinkCommand(command, &context)
    default: performLocalCommand(command, &context)
    }
  }

  /// Decodes the parameters, performs the command with `perform`, sends the answer, and calls `then` after a success.
  ///
  /// Too few or too many octets, and values that the decoder rejects, give Invalid HCI Command Parameters.
  mutating func answer<Command: HCICommand>(
    _ packet: HCICommandPacket, as type: Command.Type, _ context: inout RadioContext,
    _ perform: (inout Self, Command, inout RadioContext) -> Command.Response,
    then: ((inout Self, Command, inout RadioContext) -> Void)? = nil
  ) {
    guard let command = try? Command(decoding: packet.parameters) else {
      return host.refuse(packet.opcode, .invalidCommandParameters, &context)
    }
    let response = perform(&self, command, &context)
    if Command.isAnsweredByStatus {
      host.sendStatus(packet.opcode, response.status, &context)
    } else {
      host.complete(packet.opcode, response, &context)
    }
    if response.status.isSuccess { then?(&self, command, &context) }
  }

  /// Performs a command whose answer depends on its status alone.
  mutating func answerStatus<Command: HCICommand>(
    _ packet: HCICommandPacket, of type: Command.Type, _ context: inout RadioContext,
    _ perform: (inout Self, Command, inout RadioContext) -> HCIErrorCode,
    then: ((inout Self, Command, inout RadioContext) -> Void)? = nil
  ) {
    answer(packet, as: type, &context) { me, command, context in
      var response = Command.Response()
      response.status = perform(&me, command, &context)
      return response
    } then: {
      then?(&$0, $1, &$2)
    }
  }
}
