internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// One controller: HCI towards its host, the Link Layer's visible half towards the others.
///
/// It is a strict referee: it obeys what the specification allows in the state it is in and refuses the rest with the
/// specification's error. Its commands are grouped by file in the order of Vol 4, Part E, 7.
struct VirtualController: Sendable {
  /// Which of the two sets of advertising commands the host uses; once it began with one, the other is disallowed
  /// until a reset (Vol 4, Part E, 3.1.1).
  enum CommandSet: Sendable { case undecided, legacy, extended }

  let id: ControllerID
  let publicAddress: BD_ADDR
  var isAttached = true
  var configuration: VirtualControllerConfiguration
  var random: RandomSource
  var complaints: [Complaint] = []
  var faultsDoneUpTo: Instant?

  var eventMask = HCI.EventMask.standard
  var eventMaskPage2: HCI.EventMaskPage2 = []
  var leEventMask = HCI.LEEventMask.standard
  var hostFeatures: HCI.LEFeatures = []
  var leSupportedHost = false
  var rfPathCompensation = HCI.LEWriteRFPathCompensation()
  var suggestedDataLength = DataLength.initial
  var preferredTransmitPHYs: HCI.PHYs = [.le1M, .le2M, .leCoded]
  var preferredReceivePHYs: HCI.PHYs = [.le1M, .le2M, .leCoded]
  var channelClassification = VirtualLink.allChannels
  var commandSet = CommandSet.undecided

  var randomAddress: BD_ADDR?
  var advertisingSets: [AdvertisingSet] = []
  var scanner = Scanner()
  var initiator: Initiator?

  var filterAcceptList: [DeviceAddress] = []
  var resolvingList: [ResolvingListEntry] = []
  var isAddressResolutionEnabled = false
  var resolvablePrivateAddressTimeout: UInt16 = 900

  var links: [VirtualLink] = []
  var flowControl = HostFlowControl()
  private var lastHandle: UInt16 = 0x003F
  /// The buffers for the host's ACL packets. Those in ``freeBuffers`` are empty.
  var buffers: [[UInt8]] = []
  var freeBuffers: [Int] = []
  var keyPair: P256KeyPair?

  init(id: ControllerID, configuration: VirtualControllerConfiguration, random: RandomSource, attachedAt now: Instant) {
    var random = random
    self.id = id
    self.configuration = configuration
    publicAddress = configuration.publicAddress ?? BD_ADDR(random.next() & 0x3FFF_FFFF_FFFF | 0x0200_0000_0000)
    self.random = random
    let count = Int(max(1, configuration.totalNumACLDataPackets))
    buffers = Array(repeating: [], count: count)
    freeBuffers = Array((0..<count).reversed())
  }

  /// How many octets an ACL packet carries.
  var aclDataPacketLength: Int { Int(max(27, configuration.aclDataPacketLength)) }

  /// Goes back to the state after power-on (Vol 4, Part E, 7.3.2). The links end without a word to the peers.
  mutating func resetState(_ context: inout RadioContext) {
    for index in links.indices { send(.silence, on: index, &context) }
    for index in links.indices.reversed() { removeLink(index, &context) }
    eventMask = .standard
    eventMaskPage2 = []
    leEventMask = .standard
    hostFeatures = []
    leSupportedHost = false
    rfPathCompensation = HCI.LEWriteRFPathCompensation()
    suggestedDataLength = .initial
    preferredTransmitPHYs = [.le1M, .le2M, .leCoded]
    preferredReceivePHYs = [.le1M, .le2M, .leCoded]
    channelClassification = VirtualLink.allChannels
    commandSet = .undecided
    randomAddress = nil
    advertisingSets = []
    scanner = Scanner()
    initiator = nil
    filterAcceptList = []
    resolvingList = []
    isAddressResolutionEnabled = false
    resolvablePrivateAddressTimeout = 900
    keyPair = nil
    flowControl = HostFlowControl()
  }

  var maximumLinks: Int { min(configuration.maximumLinks, Int(ConnectionHandle.greatest.rawValue)) }

  /// A handle that no link has; one that was in use lately comes last, so that a host that keeps a dead one is found out.
  mutating func newHandle() -> ConnectionHandle? {
    for _ in 0...UInt16(0x0EFF) {
      lastHandle = lastHandle >= ConnectionHandle.greatest.rawValue ? 0x0001 : lastHandle + 1
      let handle = ConnectionHandle(rawValue: lastHandle)
      if !links.contains(where: { $0.handle == handle }) { return handle }
    }
    return nil
  }

  mutating func complain(_ complaint: Complaint) {
    if complaints.count < Complaint.limit { complaints.append(complaint) }
  }

  // MARK: Time

  /// When something of this controller is due.
  var deadline: Instant? {
    var nearest = scanner.deadline
    for set in advertisingSets { nearest = .nearer(nearest, set.deadline) }
    for link in links { nearest = .nearer(nearest, link.deadline) }
    for fault in configuration.faults {
      switch fault {
      case .dropsLinks(let time), .sends(_, let time):
        if faultsDoneUpTo.map({ time > $0 }) ?? true { nearest = .nearer(nearest, time) }
      default: break
      }
    }
    return nearest
  }

  /// Does what is due, except advertising events: those need the other controllers.
  mutating func tick(_ context: inout RadioContext) {
    performTimedFaults(&context)
    tickScanner(&context)
    tickLinks(&context)
    tickAdvertisingTimeouts(&context)
  }

  private mutating func performTimedFaults(_ context: inout RadioContext) {
    let done = faultsDoneUpTo
    for fault in configuration.faults {
      switch fault {
      case .dropsLinks(let time) where time <= context.now && done.map({ time > $0 }) ?? true: cutAllLinks(&context)
      case .sends(let octets, let time) where time <= context.now && done.map({ time > $0 }) ?? true:
        context.output.append(to: id) { $0 += octets }
      default: break
      }
    }
    if !configuration.faults.isEmpty { faultsDoneUpTo = context.now }
  }

  // MARK: Events

  /// Sends an event where the masks let it through.
  @discardableResult
  mutating func send<Event: HCIEventParameters>(_ event: Event, _ context: inout RadioContext) -> Bool {
    guard allows(Event.eventCode) else { return false }
    context.output.append(to: id) { $0.append(hci: event) }
    return true
  }

  /// Sends an LE meta event where both masks let it through.
  @discardableResult
  mutating func send<Event: LEEventParameters>(_ event: Event, _ context: inout RadioContext) -> Bool {
    guard allows(Event.subeventCode) else { return false }
    context.output.append(to: id) { $0.append(hci: event) }
    return true
  }

  /// Whether the host wants the event. Command Complete, Command Status and Number Of Completed Packets have no bit.
  func allows(_ code: HCIEventCode) -> Bool {
    switch code {
    case .commandComplete, .commandStatus, .numberOfCompletedPackets: true
    case .authenticatedPayloadTimeoutExpired: eventMaskPage2.contains(.authenticatedPayloadTimeoutExpired)
    case .encryptionChangeV2: eventMaskPage2.contains(.encryptionChangeV2)
    default:
      code.rawValue > 0 && code.rawValue <= 64 && eventMask.rawValue >> UInt64(code.rawValue - 1) & 1 == 1
    }
  }

  func allows(_ code: LESubeventCode) -> Bool { eventMask.contains(.leMeta) && leEventMask.contains(code) }
}
