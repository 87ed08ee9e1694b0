import BLEATT
import BLEGAP
import BLEHCI
import BLEL2CAP
import BLESMP
import BLEWire

/// Every decoder: what it accepts is encoded again, and that is decoded as the same.
func fuzzDecoders(_ input: inout FuzzInput) {
  switch input.index(11) {
  case 0: decodeATT(input.rest())
  case 1: decodeEvent(input.rest())
  case 2: decodeCommand(input.element(of: hciCommands), input.rest())
  case 3: decodeReturned(input.element(of: hciCommands), input.rest())
  case 4: decodeSMP(input.rest())
  case 5: decodeSignalling(input.rest())
  case 6: decodePacket(input.rest())
  case 7: decodeCapture(input.rest())
  case 8: divideStream(&input)
  case 9: decodeFrame(input.rest())
  default: decodeLEEvent(input.element(of: leEvents), input.rest())
  }
}

/// Each command with a declaration, by its code.
let hciCommands = HCI.commands.values.sorted { $0.opcode.rawValue < $1.opcode.rawValue }
private let leEvents = HCI.leEvents.values.sorted { $0.subeventCode.rawValue < $1.subeventCode.rawValue }

private func decodeATT(_ octets: [UInt8]) {
  guard let pdu = try? ATTPDU(decoding: octets[...]) else { return }
  let encoded = pdu.encoded
  require(
    (try? ATTPDU(decoding: encoded[...])) == pdu, "ATT: \(octets.hexadecimal) is encoded as \(encoded.hexadecimal)")
  require(!pdu.description.isEmpty, "ATT: no description")
  let request = pdu.packet as? PrepareWriteRequest
  plantedFault(
    request.map { $0.valueOffset > 512 && $0.partAttributeValue.count == 3 } ?? false,
    "a Prepare Write Request of three octets from an offset above 512")
}

private func decodeEvent(_ octets: [UInt8]) {
  guard let event = try? HCIEvent(decoding: octets[...]) else { return }
  let encoded = event.packet.encoded
  require((try? HCIEvent(decoding: encoded[...])) == event, "event: \(octets.hexadecimal)")
  require(!event.description.isEmpty, "event: no description")
  guard case .commandComplete(let complete) = event,
    let command = HCI.commands[complete.opcode]
  else { return }
  decodeReturned(command, Array(complete.returnParameters))
}

private func decodeLEEvent(_ type: any LEEventParameters.Type, _ octets: [UInt8]) {
  func decode<Event: LEEventParameters>(_ type: Event.Type) {
    guard let event = try? Event(decoding: octets[...]) else { return }
    let encoded = event.encoded
    require((try? Event(decoding: encoded[...])) == event, "\(type): \(octets.hexadecimal)")
    _ = event.fieldLines
  }
  decode(type)
}

private func decodeCommand(_ type: any HCICommand.Type, _ octets: [UInt8]) {
  func decode<Command: HCICommand>(_ type: Command.Type) {
    guard let command = try? Command(decoding: octets[...]) else { return }
    let encoded = command.encoded
    require((try? Command(decoding: encoded[...])) == command, "\(type): \(octets.hexadecimal)")
    _ = command.fieldLines
  }
  decode(type)
}

private func decodeReturned(_ type: any HCICommand.Type, _ octets: [UInt8]) {
  func decode<Command: HCICommand>(_ type: Command.Type) {
    // A rejected command may return its status alone: the other fields have their default values then.
    guard let response = try? Command.Response(returned: octets[...]), response.status == .success else { return }
    let encoded = response.encoded
    require((try? Command.Response(returned: encoded[...])) == response, "\(type): returned \(octets.hexadecimal)")
    _ = response.fieldLines
  }
  decode(type)
}

private func decodeSMP(_ octets: [UInt8]) {
  guard let pdu = try? SMPPDU(decoding: octets[...]) else { return }
  let encoded = pdu.encoded
  require((try? SMPPDU(decoding: encoded[...])) == pdu, "SMP: \(octets.hexadecimal)")
  _ = "\(pdu)"
}

private func decodeSignalling(_ octets: [UInt8]) {
  guard let pdu = try? SignallingPDU(decoding: octets[...]) else { return }
  let encoded = pdu.encoded
  require((try? SignallingPDU(decoding: encoded[...])) == pdu, "signalling: \(octets.hexadecimal)")
  _ = "\(pdu)"
}

private func decodePacket(_ octets: [UInt8]) {
  guard let packet = try? HCIPacket(decoding: octets[...]) else { return }
  let encoded = packet.encoded
  require((try? HCIPacket(decoding: encoded[...])) == packet, "H4: \(octets.hexadecimal)")
  switch packet {
  case .event(let event): decodeEvent(event.encoded)
  case .command(let command):
    if let type = HCI.commands[command.opcode] { decodeCommand(type, Array(command.parameters)) }
  case .aclData(let data):
    let header = try? ACLHeader(reading: octets.span)
    require(header?.connectionHandle == data.connectionHandle, "the header of \(octets.hexadecimal)")
    require(header?.dataLength == data.data.count, "the length of \(octets.hexadecimal)")
  case .synchronousData, .isoData: break
  }
}

private func decodeCapture(_ octets: [UInt8]) {
  guard let file = try? BTSnoopFile(octets[...]) else { return }
  let records = Array(file)
  require(records.reduce(0) { $0 + $1.packet.count } <= octets.count + records.count, "more octets than the file has")
  require(file.unread.count <= octets.count, "more unread octets than the file has")
  var written = BTSnoopFile.header
  for record in records {
    BTSnoopFile.append(Array(record.packet).span, record.direction, at: record.microseconds, to: &written)
  }
  guard let again = try? BTSnoopFile(written[...]) else { return require(false, "a written file cannot be read") }
  require(again.unread.isEmpty, "a written file is incomplete")
  for (record, copy) in zip(records, again) {
    require(record.packet.elementsEqual(copy.packet), "another packet")
    require(record.direction == copy.direction, "another direction")
    require(record.microseconds == copy.microseconds, "another time")
  }
}

/// The framer finds the same packets in a stream, whatever the parts that it is received in.
private func divideStream(_ input: inout FuzzInput) {
  let size = 1 + input.index(40)
  let limit = input.flag() ? 300 : H4Framer.longestPacket
  let octets = input.rest()
  func packets(_ size: Int) -> ([[UInt8]], H4Error?) {
    var (framer, packets) = (H4Framer(limit: limit), [[UInt8]]())
    for start in stride(from: 0, to: octets.count, by: size) {
      let part = Array(octets[start..<min(octets.count, start + size)])
      do throws(H4Error) {
        try framer.receive(part.span) { packets.append([UInt8](copying: $0)) }
      } catch {
        return (packets, error)
      }
      require(framer.collected.count <= limit, "the framer stores \(framer.collected.count) octets")
    }
    return (packets, nil)
  }
  let (whole, divided) = (packets(max(1, octets.count)), packets(size))
  require(whole.0 == divided.0, "other packets in parts of \(size) octets")
  require(whole.1 == divided.1, "another error in parts of \(size) octets")
  for packet in whole.0 { require((try? HCIPacket(decoding: packet[...])) != nil, "no packet: \(packet.hexadecimal)") }
}

private func decodeFrame(_ octets: [UInt8]) {
  guard let frame = try? BasicFrame(decoding: octets[...]) else { return }
  require(frame.encoded == octets, "frame: \(octets.hexadecimal)")
}
