import BLEGATT
import BLEL2CAP
import BLEWire

/// The services that peers may open channels to, with their owners, and the names of the channels. It outlives the
/// links.
struct ChannelServices: Sendable {
  /// A service and its owner.
  struct Listener: Equatable, Sendable {
    let owner: OwnerID
    var service: ChannelService
  }

  private(set) var listeners: [SPSM: Listener] = [:]
  private var lastChannel: UInt32 = 0
  /// The link of each channel that is open or requested.
  private var links: [L2CAPChannelID: LinkID] = [:]

  /// The numbers of the services.
  var numbers: Set<SPSM> { Set(listeners.keys) }
  /// The numbers that a service may have (Vol 3, Part A, 4.22).
  static let validNumbers: ClosedRange<UInt16> = 0x0001...0x00FF

  /// Adds a service.
  ///
  /// - Returns: its number.
  mutating func listen(_ service: ChannelService, for owner: OwnerID) -> Result<SPSM, HostError> {
    let parameters = service.parameters
    guard parameters.isValid(for: .leCreditBased), parameters.initialCredits > 0 else {
      let text =
        "a channel service with MTU \(parameters.mtu), MPS \(parameters.mps) and \(parameters.initialCredits) credits. Use sizes of 23 to 65,533 octets, and one credit or more"
      return .failure(.invalidParameters(text))
    }
    guard let number = service.spsm ?? freeNumber else {
      return .failure(.tooMany("channel services", limit: SPSM.dynamicRange.count))
    }
    guard Self.validNumbers.contains(number.rawValue), number != .enhancedATT else {
      return .failure(.invalidParameters("no service of an application has the number \(number). Use 0x0080 to 0x00FF"))
    }
    guard listeners[number] == nil else {
      return .failure(.invalidParameters("the service \(number) is open already. Close it, or use another number"))
    }
    listeners[number] = Listener(owner: owner, service: service)
    return .success(number)
  }

  private var freeNumber: SPSM? {
    SPSM.dynamicRange.lazy.map { SPSM(rawValue: $0) }.first { listeners[$0] == nil }
  }

  /// Removes a service of an owner.
  ///
  /// - Returns: whether there was one.
  mutating func stopListening(_ number: SPSM, of owner: OwnerID) -> Bool {
    guard listeners[number]?.owner == owner else { return false }
    listeners[number] = nil
    return true
  }

  /// The services of an owner, in order.
  func numbers(of owner: OwnerID) -> [SPSM] {
    listeners.filter { $0.value.owner == owner }.keys.sorted { $0.rawValue < $1.rawValue }
  }

  /// Draws a name for a channel on a link.
  mutating func name(on link: LinkID) -> L2CAPChannelID {
    lastChannel &+= 1
    let id = L2CAPChannelID(rawValue: lastChannel)
    links[id] = link
    return id
  }

  func link(of channel: L2CAPChannelID) -> LinkID? { links[channel] }
  mutating func ended(_ channel: L2CAPChannelID) { links[channel] = nil }

  /// The commands to the kernel that restore the services.
  var kernelCommands: [KernelCommand] {
    listeners.sorted { $0.key.rawValue < $1.key.rawValue }.map { .listen($0.key, for: $0.value.service) }
  }
}
