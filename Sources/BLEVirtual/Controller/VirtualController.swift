internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// One controller: HCI towards its host, Link Layer PDUs towards the other controllers.
///
/// It performs the commands that the specification allows in its state, and rejects all others with the error of the
/// specification. The commands are grouped by file in the order of Vol 4, Part E, 7.
struct VirtualController: Sendable {
  let id: ControllerID
  var isAttached = true
  let configuration: VirtualControllerConfiguration
  var random: RandomSource
  var complaints = ComplaintList()
  var faults: ControllerFaults

  var host: HostInterface
  var features: LocalFeatures
  var power: TransmitPower
  var keyAgreement = KeyAgreement()
  var suggestedDataLength = DataLength.initial
  var preferredTransmitPHYs: HCI.PHYs = [.le1M, .le2M, .leCoded]
  var preferredReceivePHYs: HCI.PHYs = [.le1M, .le2M, .leCoded]
  var channelClassification = VirtualLink.allChannels
  /// The set of advertising commands that the host uses; nil before the first of its commands.
  var commandSet: AdvertisingCommandSet?

  var addresses: OwnAddresses
  var acceptList: FilterAcceptList
  var resolvingList: ResolvingList
  var advertising: AdvertisingSets
  var scanner = Scanner()
  var initiator = Initiator()

  var links: [VirtualLink] = []
  var flowControl = HostFlowControl()
  private var lastHandle: UInt16 = 0x003F
  var buffers: ACLBuffers

  init(id: ControllerID, configuration: VirtualControllerConfiguration, random: RandomSource, attachedAt now: Instant) {
    var random = random
    self.id = id
    host = HostInterface(of: id, commandCredits: configuration.commandCredits)
    features = LocalFeatures(configuration.features)
    power = TransmitPower(level: configuration.txPower)
    self.configuration = configuration
    addresses = OwnAddresses(
      publicAddress: configuration.publicAddress ?? BD_ADDR(random.next() & 0x3FFF_FFFF_FFFF | 0x0200_0000_0000))
    acceptList = FilterAcceptList(capacity: configuration.filterAcceptListSize)
    resolvingList = ResolvingList(capacity: configuration.resolvingListSize)
    advertising = AdvertisingSets(
      capacity: configuration.numSupportedAdvertisingSets,
      maximumDataLength: Int(configuration.maxAdvertisingDataLength))
    self.random = random
    buffers = ACLBuffers(
      packetLength: Int(configuration.aclDataPacketLength), count: Int(configuration.totalNumACLDataPackets))
    faults = ControllerFaults(configuration.faults, random: random)
  }

  /// Returns to the state after power-on (Vol 4, Part E, 7.3.2). The links end without LL_TERMINATE_IND.
  mutating func resetState(_ context: inout RadioContext) {
    for index in links.indices { send(.silence, on: index, &context) }
    for index in links.indices.reversed() { removeLink(index, &context) }
    host.reset()
    features = LocalFeatures(configuration.features)
    power = TransmitPower(level: configuration.txPower)
    keyAgreement = KeyAgreement()
    suggestedDataLength = .initial
    preferredTransmitPHYs = [.le1M, .le2M, .leCoded]
    preferredReceivePHYs = [.le1M, .le2M, .leCoded]
    channelClassification = VirtualLink.allChannels
    commandSet = nil
    addresses = OwnAddresses(publicAddress: addresses.publicAddress)
    acceptList = FilterAcceptList(capacity: configuration.filterAcceptListSize)
    resolvingList = ResolvingList(capacity: configuration.resolvingListSize)
    advertising = AdvertisingSets(
      capacity: configuration.numSupportedAdvertisingSets,
      maximumDataLength: Int(configuration.maxAdvertisingDataLength))
    scanner = Scanner()
    initiator = Initiator()
    flowControl = HostFlowControl()
  }

  var maximumLinks: Int { min(configuration.maximumLinks, Int(ConnectionHandle.greatest.rawValue)) }

  /// A handle that no link has. Recently used handles come last, so that the use of an old handle is an error.
  mutating func newHandle() -> ConnectionHandle? {
    for _ in 0...UInt16(0x0EFF) {
      lastHandle = lastHandle >= ConnectionHandle.greatest.rawValue ? 0x0001 : lastHandle + 1
      let handle = ConnectionHandle(rawValue: lastHandle)
      if !links.contains(where: { $0.handle == handle }) { return handle }
    }
    return nil
  }

  mutating func setFaults(_ faults: [VirtualFault]) { self.faults.replace(with: faults, random: random) }

  // MARK: Time

  /// The time at which ``tick(_:)`` has something to do; nil if nothing is planned.
  var deadline: Instant? {
    var nearest = Instant?.nearer(scanner.deadline, faults.deadline)
    nearest = .nearer(nearest, advertising.deadline)
    for link in links { nearest = .nearer(nearest, link.deadline) }
    return nearest
  }

  /// Ends the advertising sets whose duration is over or whose maximum number of events is reached.
  mutating func tickAdvertising(_ context: inout RadioContext) { advertising.tick(host, &context) }

  /// Does everything that is due, except advertising events, which need the other controllers.
  mutating func tick(_ context: inout RadioContext) {
    performTimedFaults(&context)
    scanner.tick(host, &context)
    tickLinks(&context)
    advertising.tick(host, &context)
  }

  private mutating func performTimedFaults(_ context: inout RadioContext) {
    for fault in faults.takeDue(at: context.now) {
      switch fault {
      case .dropsLinks: cutAllLinks(&context)
      case .sends(let octets, _): host.send(octets: octets, &context)
      case .restarts(_, let code):
        resetState(&context)
        if let code { host.send(HCI.HardwareError { $0.hardwareCode = code }, &context) }
      default: break
      }
    }
  }
}
