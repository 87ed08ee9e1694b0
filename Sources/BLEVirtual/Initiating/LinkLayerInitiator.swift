internal import BLEHCI
internal import BLEWire

/// The initiating state of a controller (Vol 6, Part B, 4.4.4; Vol 4, Part E, 7.8.12, 7.8.13 and 7.8.66).
struct LinkLayerInitiator: Sendable {
  /// A connection request from the host.
  struct Request: Sendable {
    let filterPolicy: HCI.InitiatorFilterPolicy
    let peerAddress: DeviceAddress
    let ownAddressType: HCI.OwnAddressType
    /// Whether the initiator also receives extended advertisements.
    let isExtended: Bool
    /// The parameters for each initiating PHY.
    fileprivate let initiations: [HCI.PHY: HCI.InitiatingParameters]
    /// The scan windows, with airtime.
    fileprivate var schedule: ScanSchedule

    init(_ command: HCI.LECreateConnection, now: Instant) {
      filterPolicy = command.initiatorFilterPolicy
      peerAddress = command.peerAddress
      ownAddressType = command.ownAddressType
      isExtended = false
      initiations = [
        .le1M: .init {
          $0.scanInterval = command.scanInterval
          $0.scanWindow = command.scanWindow
          $0.parameters = command.parameters
        }
      ]
      schedule = ScanSchedule([.le1M: .init(interval: command.scanInterval, window: command.scanWindow)])
      schedule.start = now
    }

    init(_ command: HCI.LEExtendedCreateConnection, now: Instant) {
      filterPolicy = command.initiatorFilterPolicy
      peerAddress = command.peerAddress
      ownAddressType = command.ownAddressType
      isExtended = true
      initiations = Dictionary(
        zip(command.initiatingPHYs.phys, command.initiations), uniquingKeysWith: { first, _ in first })
      schedule = ScanSchedule(initiations.mapValues { .init(interval: $0.scanInterval, window: $0.scanWindow) })
      schedule.start = now
    }

    /// The error for a command without initiating PHYs, or with PHYs or parameters that do not exist; nil if there is
    /// none.
    static func refusal(of command: HCI.LEExtendedCreateConnection) -> HCIErrorCode? {
      guard !command.initiations.isEmpty else { return .invalidCommandParameters }
      guard command.initiatingPHYs.isSubset(of: [.le1M, .le2M, .leCoded]) else {
        return .unsupportedFeatureOrParameterValue
      }
      return command.initiations.allSatisfy(\.parameters.isValid) ? nil : .invalidCommandParameters
    }

    /// - Parameter random: the random address of the controller.
    func ownAddress(random: BD_ADDR?, for peer: DeviceAddress) -> OwnAddressRequest {
      OwnAddressRequest(type: ownAddressType, random: random, peer: peer)
    }
  }

  /// The pending request.
  private(set) var request: Request?

  var isUsingAcceptList: Bool { request?.filterPolicy == .acceptList }

  /// Whether it receives on a PHY at any time.
  func receives(on phy: HCI.PHY) -> Bool { request?.schedule.includes(phy) ?? false }

  /// Whether it receives a packet, with airtime.
  func receives(on phy: HCI.PHY, channel: Int, from begin: Instant, to end: Instant) -> Bool {
    request?.schedule.receives(on: phy, channel: channel, from: begin, to: end) ?? false
  }

  // MARK: The request

  /// The error for a request; nil if the initiator allows the request to begin.
  func refusal(of wanted: Request) -> HCIErrorCode? {
    guard request == nil else { return .commandDisallowed }
    let range: ClosedRange<UInt16> = 0x0004...(wanted.isExtended ? 0xFFFF : 0x4000)
    for scan in wanted.initiations.values {
      guard range.contains(scan.scanInterval), range.contains(scan.scanWindow), scan.scanWindow <= scan.scanInterval,
        scan.parameters.isValid
      else { return .invalidCommandParameters }
    }
    guard wanted.filterPolicy.rawValue <= 1, wanted.ownAddressType.rawValue <= 3,
      wanted.filterPolicy == .acceptList || wanted.peerAddress.kind.rawValue <= 3
    else { return .invalidCommandParameters }
    return nil
  }

  mutating func begin(_ request: Request) { self.request = request }

  /// Ends the request after a link has begun.
  mutating func end() { request = nil }

  /// Ends the request without a link, and reports that (Vol 4, Part E, 7.8.13).
  mutating func cancel(_ host: HostInterface, _ context: inout VirtualRadioContext) {
    guard let request else { return }
    self.request = nil
    let nobody = DeviceAddress(octets: BD_ADDR(), kind: .public)
    ConnectionReport(
      status: .unknownConnectionIdentifier, role: .central,
      peerAddress: request.filterPolicy == .peerAddress ? request.peerAddress : nobody
    ).send(to: host, &context)
  }

  // MARK: Advertisements

  /// The request and the parameters of a link, if the request allows this kind of advertisement, regardless of its
  /// sender.
  func match(for advertisement: AdvertisingPDU) -> (request: Request, parameters: HCI.ConnectionParameters)? {
    guard let request, advertisement.properties.contains(.connectable),
      request.isExtended || advertisement.isLegacyPDU, let initiation = request.initiations[advertisement.linkPHY]
    else { return nil }
    return (request, initiation.parameters)
  }
}

extension LinkLayerInitiator.Request {
  /// Whether the request is for the sender of an advertisement.
  ///
  /// - Parameter sender: the sender, as the lists of the controller have it.
  func isFor(_ advertisement: AdvertisingPDU, from sender: AdvertiserIdentity) -> Bool {
    guard !sender.isRejected, !sender.isForAnother, let identity = sender.address?.identity else { return false }
    if filterPolicy == .acceptList { return sender.isInAcceptList }
    return identity == peerAddress.identity || advertisement.address == peerAddress
  }
}
