import BLEATT
import BLEGAP
import BLEHCI
import BLEKit
import BLEL2CAP
import BLESMP
import BLETwin
import BLEWire
import ToolCore

@testable import BLERuntime
@testable import BLETrace
@testable import ble

/// What the tool `ble` reads: traces, descriptions, values, advertising data, addresses and command lines.
///
/// It requires that
/// - a line has no character that a terminal obeys, and its length is in proportion to the octets that it shows;
/// - the parts of a wrapped line are the line, none wider than the terminal;
/// - a description with a field that it does not have is rejected, and a value has at most 512 octets;
/// - the explanation of a trace is printable, and its length is limited; so is the session of a central in it;
/// - a file of packets gives the same records however it is divided, and a device of a trace has a description that is
///   read as it is written;
/// - text that reads as an address, a UUID, octets or a transport is written and read again as the same.
func fuzzTool(_ input: inout FuzzInput) {
  switch input.index(8) {
  case 0: input.flag() ? buildFile(&input) : readTrace(input.rest())
  case 1, 2: buildTrace(&input)
  case 3: readDescription(input.rest())
  case 4: misspell(&input)
  case 5: showValue(&input)
  case 6: readText(String(decoding: input.rest(), as: UTF8.self))
  default: readCommandLine(&input)
  }
}

private func requirePrintable(_ text: String, showing count: Int, _ kind: String) {
  let control = text.unicodeScalars.first { !String.isPrintable($0) }
  require(control == nil, "\(kind): U+\(String(control?.value ?? 0, radix: 16)) in \(text.debugDescription)")
  require(text.utf8.count <= 1_000 + 120 * count, "\(kind): \(text.utf8.count) octets of text for \(count) octets")
}

// MARK: Traces

/// What a file gives, of which `part` octets arrive at a time.
private func records(in octets: [UInt8], inPartsOf part: Int) -> ([BTSnoopRecord], TraceFault?, incomplete: Int?) {
  var (file, records) = (TraceFile(), [BTSnoopRecord]())
  var rest = octets[...]
  while true {
    file.append(rest.prefix(part))
    rest = rest.dropFirst(part)
    if rest.isEmpty { file.end() }
    do throws(TraceFault) {
      while let record = try file.next() { records.append(record) }
    } catch { return (records, error, nil) }
    if rest.isEmpty { return (records, nil, file.incompleteRecord) }
  }
}

private func readTrace(_ octets: [UInt8]) {
  let (found, fault, incomplete) = records(in: octets, inPartsOf: max(1, octets.count))
  let part = 1 + octets.count % 23
  let divided = records(in: octets, inPartsOf: part)
  require(
    found == divided.0 && fault == divided.1 && incomplete == divided.incomplete,
    "another content in parts of \(part) octets")
  require(found.count <= octets.count / 12, "\(found.count) records of \(octets.count) octets")
  if let fault { requirePrintable(fault.description, showing: 0, "fault") }
  var (reader, explainer, entries) = (TraceReader(), TraceExplainer(), [TraceEntry]())
  for record in found {
    let entry = reader.anyEntry(for: record)
    explainer.add(entry)
    if case .fragment = entry.content { continue }
    check(entry, octets.count)
    entries.append(entry)
  }
  check(explainer.finish())
  draw(entries)
  describe(reader)
  extract(found)
  var recorder = TwinRecorder()
  for entry in entries { recorder.add(entry) }
  copy(reader, recorder)
}

/// The session of each of the first links, and of the only one with requests.
private func extract(_ records: [BTSnoopRecord]) {
  for number in [nil, 1, 2] {
    var recorder = SessionRecorder(choosing: number)
    for record in records { recorder.add(record) }
    do throws(SessionFault) {
      let session = try recorder.finish()
      require(session.clientCount > 0 && number ?? session.number == session.number, "another session")
      var last = 0
      for step in session.steps {
        require(last <= step.number && step.number <= records.count, "packet \(step.number) after packet \(last)")
        last = step.number
        switch step.action {
        case .request(let request, let response):
          requirePrintable(session.text(ofRequest: request), showing: request.count, "request")
          guard let response else { break }
          require(response.number > step.number, "a response before its request")
          requirePrintable(session.text(ofResponse: response.pdu, to: request), showing: response.pdu.count, "response")
        case .command(let command): requirePrintable(session.text(ofRequest: command), showing: 0, "command")
        case .value(let handle, let value):
          requirePrintable(
            "\(session.name(of: handle)) \(session.text(value, of: handle))", showing: value.count, "value")
        case .encryption: break
        }
      }
      for omission in session.omissions { requirePrintable(omission.description, showing: 1_000, "omission") }
    } catch { requirePrintable(error.description, showing: 1_000, "session fault") }
  }
}

private func check(_ explanation: TraceExplanation) {
  require(
    explanation.findings.count <= TraceExplainer.problemLimit + TraceExplainer.noteLimit,
    "\(explanation.findings.count) findings")
  for finding in explanation.findings {
    require(finding.evidence.count <= 12, "\(finding.evidence.count) lines of evidence: \(finding.headline)")
    for line in finding.lines { requirePrintable(line, showing: 1_000, "finding") }
    let last = finding.evidence.compactMap(\.number).max() ?? 0
    require(last <= explanation.packets, "evidence of packet \(last) in a trace of \(explanation.packets)")
  }
}

/// The description of each device of a trace is read as it is written.
private func describe(_ reader: TraceReader) {
  for (_, _, device) in reader.devices {
    let (description, leftOut) = device.described(orNamed: "device")
    for text in leftOut { requirePrintable(text, showing: 0, "what a description lacks") }
    let read = try? ServiceDescription(Array(description.text.utf8), of: "input")
    require(read == description, "a description is read as another one:\n\(description.text)")
  }
}

/// The copy of each device of a trace is rejected, or read as it is written.
private func copy(_ reader: TraceReader, _ recorder: TwinRecorder) {
  for (link, address, device) in reader.devices {
    let twin = device.twin(orNamed: "device", in: recorder, link: link, address: address)
    for note in twin.notes { requirePrintable(note, showing: 0, "what a copy lacks") }
    guard let read = try? ServiceDescription(Array(twin.description.text.utf8), of: "input") else { continue }
    require(read == twin.description, "a copy is read as another one:\n\(twin.description.text)")
    require(!read.hasHandles || ServedValues(read).attributes().count >= 1, "a copy without attributes")
  }
}

/// A file of each format, with some octets that are any.
private func buildFile(_ input: inout FuzzInput) {
  let order: (UInt32) -> [UInt8] =
    input.flag()
    ? { number in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) } }
    : { number in [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: number >> $0) } }
  let format = input.index(4)
  var file: [UInt8] = []
  func block(_ type: UInt32, _ content: [UInt8]) -> [UInt8] {
    let padded = content + [UInt8](repeating: 0, count: (4 - content.count % 4) % 4)
    return order(type) + order(UInt32(padded.count + 12)) + padded + order(UInt32(padded.count + 12))
  }
  let section = block(0x0A0D_0D0A, order(0x1A2B_3C4D) + [0, 1, 0, 0] + order(.max) + order(.max))
  switch format {
  case 0: file = BTSnoopFile.header
  case 1: break
  case 2:
    file = order(0xA1B2_C3D4) + [0, 2, 0, 4] + order(0) + order(0) + order(0xFFFF)
    file += order([187, 201, 254, 1][input.index(4)])
  default: file = section
  }
  var steps = 0
  while !input.isEmpty, steps < 40 {
    steps += 1
    let packet = record(input.octet() & 0x7F, &input)
    let length = order(UInt32(packet.count))
    switch format {
    case 0: BTSnoopFile.append(packet.span, input.flag() ? .hostToController : .controllerToHost, at: 0, to: &file)
    case 1: file += order(UInt32(packet.count + 8)) + order(0) + order(0) + [input.octet() % 12] + packet.dropFirst()
    case 2: file += order(0) + order(0) + length + length + packet
    default:
      switch input.index(6) {
      case 0: file += section
      case 1:
        // Link type and reserved octets: the upper or the lower half, by the octet order.
        let link: UInt32 = [187, 201, 254, 1][input.index(4)]
        file += block(1, order(order(1)[0] == 0 ? link << 16 : link) + order(0) + input.take(input.index(24)))
      case 2: file += block(3, length + packet)
      case 3: file += block(input.octet() % 8 == 7 ? 5 : 0x0BAD, input.counted())
      default:
        let padding = [UInt8](repeating: 0, count: (4 - packet.count % 4) % 4)
        file += block(
          6,
          order(UInt32(input.index(3))) + input.take(8) + length + length + packet + padding
            + input.take(input.index(16)))
      }
    }
  }
  for _ in 0..<input.index(3) where !file.isEmpty { file[input.index(file.count)] = input.octet() }
  readTrace(file)
}

private func check(_ entry: TraceEntry, _ count: Int) {
  requirePrintable(entry.line, showing: count, "trace")
  for width in [40, 80] {
    let lines = entry.line.wrapped(to: width, indent: 20)
    require(lines.first?.columns ?? 0 <= width, "a line is wider than \(width) columns")
    require(lines.dropFirst().allSatisfy { $0.columns <= width - 20 }, "a part is wider than \(width - 20) columns")
    // A line is wrapped at a space, which is left out.
    let (whole, parts) = (entry.line.filter { $0 != " " }, lines.joined().filter { $0 != " " })
    require(whole == parts, "a wrapped line is another one: \(lines)")
  }
}

private func draw(_ entries: [TraceEntry]) {
  let picture = LadderDiagram(entries).svg
  require(picture.hasSuffix("</svg>\n"), "the picture has no end")
  require(
    picture.unicodeScalars.allSatisfy { $0 == "\n" || String.isPrintable($0) }, "the picture has control characters")
  let tags = picture.count { $0 == "<" }
  require(tags == picture.count { $0 == ">" }, "the picture has text that is a tag")
}

/// The records of a trace: packets of each kind, the exchanges of a discovery, and any octets.
private func buildTrace(_ input: inout FuzzInput) {
  var (reader, explainer, entries) = (TraceReader(), TraceExplainer(), [TraceEntry]())
  var (steps, records) = (0, [BTSnoopRecord]())
  while !input.isEmpty, steps < 60 {
    steps += 1
    let head = input.octet()
    let direction: HCIPacketDirection = head & 0x80 == 0 ? .hostToController : .controllerToHost
    let packet = record(head & 0x7F, &input)
    let time = head & 0x40 == 0 ? Int64(steps) * 1_000 : Int64(bitPattern: input.next())
    records.append(BTSnoopRecord(packet: packet[...], direction: direction, microseconds: time))
    let entry = reader.anyEntry(for: records[steps - 1])
    explainer.add(entry)
    if case .fragment = entry.content { continue }
    check(entry, packet.count)
    plantedFault(
      entry.layer == .att && entry.details.contains("Battery Level = "),
      "a battery level whose characteristic was discovered")
    entries.append(entry)
  }
  check(explainer.finish())
  draw(entries)
  describe(reader)
  extract(records)
}

private func record(_ kind: UInt8, _ input: inout FuzzInput) -> [UInt8] {
  let link: UInt16 = 0x40 + UInt16(kind >> 4 & 1)
  func frame(_ channel: UInt16, _ pdu: [UInt8]) -> [UInt8] {
    // A PDU with random values can be longer than a frame.
    let payload = pdu.prefix(2_000)
    var packet: [UInt8] = [2]
    packet.append(littleEndian: link | 0x2000)
    packet.append(littleEndian: UInt16(payload.count + 4))
    packet.append(littleEndian: UInt16(payload.count))
    packet.append(littleEndian: channel)
    return packet + payload
  }
  func handle() -> AttributeHandle { AttributeHandle(rawValue: 0x10 + UInt16(input.index(4))) }
  switch kind & 0x0F {
  case 0: return input.counted()
  case 1:
    let complete = HCI.LEConnectionComplete {
      $0.connectionHandle = ConnectionHandle(rawValue: link)
      $0.peerAddress = DeviceAddress(octets: BD_ADDR(UInt64(input.octet())), kind: .random)
    }
    var packet: [UInt8] = []
    packet.append(hci: complete)
    return packet
  case 2:
    func random<Event: HCIEventParameters>(_ type: Event.Type) -> [UInt8] {
      var packet: [UInt8] = []
      packet.append(hci: Event.random(from: &input))
      return packet
    }
    return random(hciEvents[input.index(hciEvents.count)])
  case 3:
    func random<Command: HCICommand>(_ type: Command.Type) -> [UInt8] {
      var packet: [UInt8] = []
      packet.append(hci: Command.random(from: &input))
      return packet
    }
    return random(hciCommands[input.index(hciCommands.count)])
  case 4:
    func random<PDU: ATTPacket>(_ type: PDU.Type) -> [UInt8] { PDU.random(from: &input).encodedPDU }
    return frame(4, random(ATT.packets[input.index(ATT.packets.count)]))
  case 5: return frame(4, [0x08, 0x01, 0x00, 0xFF, 0xFF, 0x03, 0x28])
  case 6:
    // A characteristic declaration: properties, value handle, UUID (Vol 3, Part G, 3.3.1).
    let (value, uuid) = (handle(), input.element(of: characteristics))
    var pdu: [UInt8] = [0x09, 0x07, 0x0F, 0x00, 0x12]
    pdu.append(littleEndian: value.rawValue)
    pdu.append(littleEndian: uuid)
    return frame(4, pdu)
  case 7, 8:
    var pdu: [UInt8] = [[0x1B, 0x1D, 0x12, 0x52][input.index(4)]]
    pdu.append(littleEndian: handle().rawValue)
    return frame(4, pdu + input.take(input.index(20)))
  case 9: return frame(4, [0x0A, 0x10 + UInt8(input.index(4)), 0x00])
  case 10: return frame(4, [0x0B] + input.take(input.index(20)))
  case 11:
    func random<PDU: SMPPacket>(_ type: PDU.Type) -> [UInt8] { PDU.random(from: &input).encodedPDU }
    return frame(6, random(SMP.packets[input.index(SMP.packets.count)]))
  case 12:
    let types = SignallingPDU.packets
    func random<PDU: SignallingPacket>(_ type: PDU.Type) -> [UInt8] {
      let identifier = input.octet()
      return PDU.random(from: &input).encodedPDU(identifier: identifier)
    }
    return frame(5, random(types[input.index(types.count)]))
  case 13: return frame(0x40 + UInt16(input.index(4)), input.counted())
  case 14:
    // A fragment: of a frame that began, or that goes on.
    let contents = input.counted()
    var packet: [UInt8] = [2]
    packet.append(littleEndian: link | UInt16(input.index(4)) << 12)
    packet.append(littleEndian: UInt16(contents.count))
    return packet + contents
  default:
    let report = HCI.ExtendedAdvertisingReport { $0.data = input.take(input.index(220))[...] }
    var packet: [UInt8] = []
    packet.append(hci: HCI.LEExtendedAdvertisingReport { $0.reports = [report] })
    return packet
  }
}

// MARK: Descriptions

private func readDescription(_ octets: [UInt8]) {
  guard let description = try? ServiceDescription(octets, of: "input") else { return }
  require(description.hasStructure(of: description), "a description has another structure than itself")
  let services = ServedValues(description).services()
  require(services.count == description.services.count, "another number of services")
  if description.hasHandles { _ = ServedValues(description).attributes() }
  for (service, described) in zip(services, description.services) {
    require(service.characteristics.count == described.characteristics.count, "another number of characteristics")
  }
}

/// A description with one changed letter in the name of a field, which is no other field then.
private func misspell(_ input: inout FuzzInput) {
  let index = input.index(fields.count)
  var letters = Array(fields[index].utf8)
  let place = input.index(letters.count)
  let letter = UInt8(ascii: "A") + input.octet() % 26 + (input.flag() ? 32 : 0)
  switch input.index(4) {
  case 0: letters[place] = letter
  case 1: letters.insert(letter, at: place)
  case 2: letters.remove(at: place)
  default: letters.swapAt(place, (place + 1) % letters.count)
  }
  let name = String(decoding: letters, as: UTF8.self)
  var (text, number) = ("", 0)
  for part in template {
    text += part
    if number < fields.count { text += "\"\(number == index ? name : fields[number])\"" }
    number += 1
  }
  let isAccepted = (try? ServiceDescription(Array(text.utf8), of: "input")) != nil
  require(isAccepted == (name == fields[index]), "the field \(name) is \(isAccepted ? "accepted" : "rejected")")
}

/// The fields of ``template``, in their order.
private let fields = [
  "name", "appearance", "passkey", "advertise", "services", "uuid", "primary", "characteristics", "uuid", "properties",
  "value", "security", "description",
]
private let template = [
  "{", #": "Lamp", "#, ": 768, ", #": "012345", "#, #": ["180F"], "#, ": [{", #": "180F", "#, ": true, ", ": [{",
  #": "2A19", "#,
  #": ["read"], "#, #": "64", "#, #": "encrypted", "#, #": "level"}]}]}"#,
]

// MARK: Values and texts

/// Characteristics and descriptors with a format that the tool knows.
private let characteristics: [UInt16] =
  [0x2A19] + Array(0x2900...0x290E) + Array(0x2A00...0x2A7B) + [0x2A8D, 0x2AA6, 0x2B29, 0x2B3A, 0x2BED, 0x2803, 0x2AB5]

private func showValue(_ input: inout FuzzInput) {
  let uuid = input.element(of: characteristics)
  let octets = input.rest()
  for uuid in [BluetoothUUID(uuid), nil] {
    let text = ValueText.text(octets[...], of: uuid)
    require(!text.isEmpty, "a value without a text")
    requirePrintable(text, showing: octets.count, "value of \(uuid?.uuidString ?? "no type")")
  }
  requirePrintable(AdvertisementText.line(octets[...]), showing: octets.count, "advertisement")
  requirePrintable(String(printable: String(decoding: octets, as: UTF8.self)), showing: octets.count, "name")
}

private func readText(_ text: String) {
  if let address = DeviceAddress(text, kind: .public) {
    require(address.octets.description == text.uppercased(), "\(text) is the address \(address)")
  }
  if let uuid = BluetoothUUID(text) {
    require(BluetoothUUID(uuid.uuidString) == uuid, "\(text) is the UUID \(uuid)")
    require(
      text.uppercased() == text.uppercased().filter { $0.isHexDigit && $0.isASCII || $0 == "-" }, "\(text) is a UUID")
  }
  if let words = try? ShellLine.words(text) {
    let marks: Set<Character> = [" ", "\t", "'", "\""]
    require(words.joined().count <= text.count, "the words \(words) of \(text)")
    require(
      text.contains(where: marks.contains) || text.hasPrefix("#") || words.count <= 1, "the words \(words) of \(text)")
  }
  if let octets = try? TypedValue.octets(text, of: nil) {
    require(octets.count <= 512, "a value of \(octets.count) octets")
    let digits = text.filter { $0 != " " && $0 != ":" }
    // Other text has a type or a unit.
    require(
      !digits.allSatisfy(\.isHexDigit) || octets.hexadecimal.uppercased() == digits.uppercased(),
      "\(text) is \(octets.hexadecimal)")
  }
  if let transport = try? TransportSpec(parsing: text) {
    require((try? TransportSpec(parsing: "\(transport)")) == transport, "\(text) is the transport \(transport)")
  }
  if let place = text.firstIndex(of: "|") {
    let (one, other) = (text[..<place].prefix(64), text[place...].dropFirst().prefix(64))
    let distance = editDistance(String(one), String(other))
    require(distance <= max(one.count, other.count), "\(distance) changes between \(one) and \(other)")
    require(distance == editDistance(String(other), String(one)), "another distance from \(other) to \(one)")
  }
}

private func readCommandLine(_ input: inout FuzzInput) {
  let command = input.element(of: BLETool.commands)
  let words = String(decoding: input.rest(), as: UTF8.self).split(separator: " ").map(String.init)
  guard let arguments = try? ParsedArguments(command, words) else { return }
  require(
    arguments.wantsHelp || arguments.operands.count <= command.operands.count,
    "\(arguments.operands.count) operands")
  for option in command.options {
    _ = arguments.has(option.name)
    if let seconds = try? arguments.seconds(option.name) { require(seconds > .zero, "--\(option.name) \(seconds)") }
    if let number: Int = try? arguments.number(option.name, in: 1...Int.max) {
      require(number > 0, "--\(option.name) \(number)")
    }
  }
}
