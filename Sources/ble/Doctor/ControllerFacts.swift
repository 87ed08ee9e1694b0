import BLEAssignedNumbers
import BLEHCI
import BLEWire

/// The properties of a controller, from the answers that the host got when it started.
struct ControllerFacts: Encodable, Sendable {
  var address: String?
  var version: String?
  var manufacturer: String?
  var features: [String] = []
  var phys: [String] = []
  var advertisingSets: Int?
  var advertisingOctets: Int?
  var bufferOctets: Int?
  var buffers: Int?
  var acceptListSize: Int?
  var resolvingListSize: Int?

  /// Reads the answers in a packet trace.
  init(_ trace: BTSnoopFile) {
    for record in trace {
      guard record.direction == .controllerToHost, let packet = try? HCIPacket(decoding: record.packet),
        case .event(let octets) = packet, case .commandComplete(let complete)? = try? HCIEvent(octets),
        let answer = try? complete.decodedResponse()
      else { continue }
      add(answer)
    }
  }

  private mutating func add(_ answer: any ReturnParameters) {
    switch answer {
    case let answer as HCI.ReadLocalVersionInformation.Response where answer.status == .success:
      version = Self.name(ofVersion: answer.hciVersion)
      manufacturer = AssignedNames.company(answer.companyIdentifier) ?? "company \(answer.companyIdentifier)"
    case let answer as HCI.ReadBDADDR.Response where answer.status == .success:
      address = answer.address.value == 0 ? nil : "\(answer.address)"
    case let answer as HCI.LEReadLocalSupportedFeatures.Response where answer.status == .success:
      features = "\(answer.features)".split(separator: ", ").map(String.init)
      phys =
        ["LE 1M"] + (answer.features.contains(.le2MPHY) ? ["LE 2M"] : [])
        + (answer.features.contains(.leCodedPHY) ? ["LE Coded"] : [])
    case let answer as HCI.LEReadBufferSize.Response where answer.status == .success:
      (bufferOctets, buffers) = (Int(answer.aclDataPacketLength), Int(answer.totalNumACLDataPackets))
    case let answer as HCI.LEReadBufferSizeV2.Response where answer.status == .success:
      (bufferOctets, buffers) = (Int(answer.aclDataPacketLength), Int(answer.totalNumACLDataPackets))
    case let answer as HCI.LEReadNumberOfSupportedAdvertisingSets.Response where answer.status == .success:
      advertisingSets = Int(answer.numSupportedAdvertisingSets)
    case let answer as HCI.LEReadMaximumAdvertisingDataLength.Response where answer.status == .success:
      advertisingOctets = Int(answer.maxAdvertisingDataLength)
    case let answer as HCI.LEReadFilterAcceptListSize.Response where answer.status == .success:
      acceptListSize = Int(answer.filterAcceptListSize)
    case let answer as HCI.LEReadResolvingListSize.Response where answer.status == .success:
      resolvingListSize = Int(answer.resolvingListSize)
    default: break
    }
  }

  /// The Bluetooth Core version of an HCI_Version (Assigned Numbers, 2.1).
  private static func name(ofVersion number: UInt8) -> String {
    let names: [UInt8: String] = [
      6: "4.0", 7: "4.1", 8: "4.2", 9: "5.0", 10: "5.1", 11: "5.2", 12: "5.3", 13: "5.4", 14: "6.0", 15: "6.1",
    ]
    return "Bluetooth \(names[number] ?? "version number \(number)")"
  }

  /// The properties as checks for information.
  var checks: [Check] {
    var rows: [(String, String)] = []
    rows.append(("controller", [version, manufacturer, address].compactMap { $0 }.joined(separator: ", ")))
    if !phys.isEmpty { rows.append(("PHYs", phys.joined(separator: ", "))) }
    if let bufferOctets, let buffers { rows.append(("ACL buffers", "\(buffers) of \(bufferOctets) octets")) }
    if let advertisingSets {
      rows.append(("advertising sets", "\(advertisingSets), up to \(advertisingOctets ?? 31) octets"))
    } else {
      rows.append(("advertising sets", "1 of 31 octets (no extended advertising)"))
    }
    if let acceptListSize, let resolvingListSize {
      rows.append(("lists", "accept list \(acceptListSize), resolving list \(resolvingListSize)"))
    }
    if !features.isEmpty { rows.append(("LE features", features.joined(separator: ", "))) }
    return rows.map { Check(name: $0.0, verdict: $0.0 == "controller" ? .good : .information, finding: $0.1) }
  }
}
