import BLEGAP
import BLEHCI
import BLEWire

/// Advertising data: the parser, elements, the layout of an advertisement, and reports in fragments.
func fuzzAdvertising(_ input: inout FuzzInput) {
  switch input.index(3) {
  case 0: parse(input.rest())
  case 1: layOut(&input)
  default: assemble(&input)
  }
}

/// Elements are encoded to the octets from which they were decoded.
private func parse(_ octets: [UInt8]) {
  var (structures, encoded) = (ADStructures(octets[...]).makeIterator(), [UInt8]())
  while let structure = structures.next() {
    let element = ADElement(structure)
    var single: [UInt8] = []
    element.encode(to: &single)
    require(ADStructures(single[...]).map { ADElement($0) } == [element], "\(element) is decoded as another element")
    require(single.count == element.encodedLength, "\(element): \(single.count) octets")
    _ = element.description
    structure.encode(to: &encoded)
  }
  if structures.unread.isEmpty { require(encoded.count <= octets.count, "more octets than received") }
  let contents = AdvertisedData(advertisingData: octets[...])
  require(contents.isWellFormed == structures.unread.isEmpty, "isWellFormed")
  require(contents.serviceUUIDs.count <= octets.count, "more UUIDs than octets")
  require(Set(contents.serviceUUIDs).count == contents.serviceUUIDs.count, "a UUID twice")
}

/// An advertisement fits in its areas, and each UUID is in an area or in the overflow area.
private func layOut(_ input: inout FuzzInput) {
  var advertisement = Advertisement()
  if input.flag() { advertisement.flags = nil }
  if input.flag() { advertisement.localName = String(decoding: input.take(input.index(64)), as: UTF8.self) }
  for _ in 0..<input.index(40) {
    switch input.index(3) {
    case 0: advertisement.serviceUUIDs.append(BluetoothUUID(input.uint16()))
    case 1: advertisement.serviceUUIDs.append(BluetoothUUID(uuid32: UInt32(input.uint16()) << 16 | 1))
    default:
      advertisement.serviceUUIDs.append(BluetoothUUID(uuid128: UInt128(input.uint16()) << 64 | UInt128(input.octet())))
    }
  }
  advertisement.marksServiceUUIDsIncomplete = input.flag()
  let policy: AdvertisingPolicy =
    switch input.index(4) {
    case 0: .coreBluetooth
    case 1: .background
    case 2: .full
    default: .extended(limit: Int(input.uint16() % 2000))
    }
  advertisement.elements = ADStructures(input.rest()[...]).map { ADElement($0) }
  guard let payload = try? advertisement.payload(under: policy) else { return }
  let limits: (Int, Int) =
    if case .extended(let limit) = policy { (min(limit, LinkLayerLimits.extendedAdvertisingData), 0) } else {
      (LinkLayerLimits.legacyAdvertisingData, LinkLayerLimits.legacyAdvertisingData)
    }
  require(payload.advertisingData.count <= limits.0, "\(payload.advertisingData.count) octets of advertising data")
  require(payload.scanResponse.count <= limits.1, "\(payload.scanResponse.count) octets of scan response")
  let contents = payload.contents
  require(contents.isWellFormed, "malformed: \(payload.advertisingData.hexadecimal)")
  let missing = advertisement.serviceUUIDs.filter {
    !contents.serviceUUIDs.contains($0) && !payload.overflowServiceUUIDs.contains($0)
  }
  require(missing.isEmpty, "\(missing) are in no area")
  plantedFault(
    payload.overflowArea != nil && payload.localName?.isComplete == false && contents.serviceUUIDs.count >= 2,
    "an overflow area beside two UUIDs and a shortened name")
}

/// Fragments of any kind: what is stored is bounded, and an advertisement has at most 1,650 octets.
private func assemble(_ input: inout FuzzInput) {
  var (assembler, now) = (ExtendedReportAssembler(), Instant.start)
  while !input.isEmpty {
    var report = HCI.ExtendedAdvertisingReport()
    report.address = DeviceAddress(octets: BD_ADDR(UInt64(input.index(80))), kind: input.flag() ? .random : .public)
    report.advertisingSID = input.octet() % 17
    report.eventType = HCI.ExtendedAdvertisingReportType(rawValue: input.uint16())
    report.data = input.counted()[...]
    if input.index(4) == 0 { now = now + .milliseconds(Int64(input.octet()) * 20) }
    let whole = assembler.receive(report, now: now)
    require(assembler.incompleteCount <= assembler.limits.advertisements, "\(assembler.incompleteCount) are stored")
    if let whole { require(whole.report.data.count <= 1650, "an advertisement of \(whole.report.data.count) octets") }
  }
}
