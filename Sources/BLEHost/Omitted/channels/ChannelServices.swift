import BLEGATT
import BLEL2CAP
import BLEWire

/// The host has no credit-based channels: it rejects each service.
struct ChannelServices: Sendable {
  typealias Listener = ChannelService

  var listeners: [SPSM: Listener] { [:] }
  var numbers: Set<SPSM> { [] }
  var kernelCommands: [KernelCommand] { [] }
  static let validNumbers: ClosedRange<UInt16> = 0x0001...0x00FF

  func listen(_ service: ChannelService, for owner: OwnerID) -> Result<SPSM, HostError> {
    .failure(.unsupported("credit-based channels"))
  }
  func stopListening(_ number: SPSM, of owner: OwnerID) -> Bool { false }
  func numbers(of owner: OwnerID) -> [SPSM] { [] }
  func name(on link: LinkID) -> L2CAPChannelID { L2CAPChannelID(rawValue: 0) }
  func link(of channel: L2CAPChannelID) -> LinkID? { nil }
  func ended(_ channel: L2CAPChannelID) {}
}
