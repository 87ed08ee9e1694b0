import BLEGAP
import BLEWire
import TestSupport
import Testing

/// The rules for every name and every list of UUIDs, under every policy.
@Suite struct AdvertisementPropertyTests {
  @Test(
    arguments: [
      AdvertisingPolicy.coreBluetooth, .background, .full, .extended(limit: 31), .extended(limit: 251),
      .extended(limit: 1650),
    ]) func payloadHasAllContentOrReportsIt(policy: AdvertisingPolicy) throws
  {
    var source = SplitMix64(seed: 1)
    for _ in 0..<300 {
      var advertisement = Advertisement(localName: name(&source), serviceUUIDs: uuids(&source))
      if Int.random(in: 0..<10, using: &source) == 0 { advertisement.flags = nil }
      advertisement.elements = elements(&source)
      advertisement.marksServiceUUIDsIncomplete = .random(using: &source)
      check(advertisement, try advertisement.payload(under: policy), policy)
    }
  }

  private func check(_ advertisement: Advertisement, _ payload: AdvertisingPayload, _ policy: AdvertisingPolicy) {
    let limit = if case .extended(let limit) = policy { limit } else { 31 }
    #expect(payload.advertisingData.count <= limit)
    #expect(payload.scanResponse.count <= 31)

    let areas = [payload.advertisingData, payload.scanResponse]
    for area in areas { #expect(ADStructures(area[...]).isWellFormed) }
    let elements = areas.flatMap { ADStructures($0[...]).elements }

    // Every UUID is in one place: in an area or in the overflow area.
    var sent: [BluetoothUUID] = []
    for case .serviceUUIDs(let uuids, let size, let isComplete) in elements {
      sent += uuids
      let all = Set(advertisement.serviceUUIDs)
      #expect(
        isComplete
          == (!advertisement.marksServiceUUIDsIncomplete
            && uuids.count == firsts(advertisement).count { $0.size == size }))
      #expect(all.isSuperset(of: uuids))
    }
    #expect(Set(sent + payload.overflowServiceUUIDs) == Set(advertisement.serviceUUIDs))
    #expect(sent.count + payload.overflowServiceUUIDs.count == Set(advertisement.serviceUUIDs).count)
    #expect(payload.contents.overflowArea == payload.overflowArea)
    if let area = payload.overflowArea {
      #expect(area == OverflowArea(payload.overflowServiceUUIDs))
      #expect(!payload.overflowServiceUUIDs.isEmpty)
    }

    // A scanner receives the name of the result, which is the beginning of the given name.
    #expect(payload.contents.localName == payload.localName)
    if let name = payload.localName, let given = advertisement.localName {
      #expect(policy != .background)
      #expect(name.isComplete == (Array(name.octets) == Array(given.utf8)))
      #expect(given.utf8.starts(with: name.octets))
      let text = name.text
      #expect(text != nil)
      if let text, let first = given.first, text.utf8.count >= first.utf8.count {
        #expect(given.starts(with: text))
      }
    } else if policy != .background, advertisement.elements.isEmpty, limit > 31,
      advertisement.localName?.isEmpty == false
    {
      Issue.record("a name that fits was not sent")
    }

    // All other elements are there once and unchanged; the flags come first.
    #expect(payload.contents.flags == advertisement.flags)
    if advertisement.flags != nil { #expect(payload.advertisingData.starts(with: [2, 1])) }
    for element in advertisement.elements {
      #expect(elements.count { $0 == element } == advertisement.elements.count { $0 == element })
    }
  }

  private func firsts(_ advertisement: Advertisement) -> [BluetoothUUID] {
    var seen: Set<BluetoothUUID> = []
    return advertisement.serviceUUIDs.filter { seen.insert($0).inserted }
  }

  private func name(_ source: inout some RandomNumberGenerator) -> String? {
    let characters = ["a", "é", "e\u{301}", "♥", "字", "👨‍👩‍👧‍👦", "🇨🇭", " ", "\u{200D}", "\r\n", "ß", "𝄞"]
    guard Int.random(in: 0..<10, using: &source) > 0 else { return nil }
    return (0..<Int.random(in: 0...40, using: &source)).map { _ in
      characters.randomElement(using: &source) ?? ""
    }.joined()
  }

  private func uuids(_ source: inout some RandomNumberGenerator) -> [BluetoothUUID] {
    let count = Int.random(in: 0..<20, using: &source) == 0 ? 200 : Int.random(in: 0...8, using: &source)
    return (0..<count).map { _ in
      switch Int.random(in: 0..<4, using: &source) {
      case 0: BluetoothUUID(uuid32: .random(in: 0...40, using: &source))
      case 1: BluetoothUUID(uuid128: .random(in: .min ... .max, using: &source))
      case 2: BluetoothUUID(uuid128: BluetoothUUID(UInt16.random(in: 0...40, using: &source)).value)
      default: BluetoothUUID(UInt16.random(in: 0...40, using: &source))
      }
    }
  }

  /// No elements, or a few that fit beside the flags.
  private func elements(_ source: inout some RandomNumberGenerator) -> [ADElement] {
    guard Int.random(in: 0..<3, using: &source) == 0 else { return [] }
    let data = Bytes(
      (0..<Int.random(in: 0...15, using: &source)).map { _ in UInt8.random(in: 0...255, using: &source) })
    return [
      .txPowerLevel(.random(in: -100...20, using: &source)), .appearance(.watch),
      .manufacturerData(.init(company: .internalUse, data: data)),
    ]
  }
}
