internal import BLEHCI

/// The features of a controller: those of its Link Layer, and those that its host adds (Vol 4, Part E, 7.3.78, 7.3.79,
/// 7.8.3 and 7.8.115).
struct LocalFeatures: Sendable {
  /// The features of the Link Layer. A command whose feature is missing is unknown.
  let linkLayer: HCI.LEFeatures
  /// The features of the Link Layer beyond the first 64.
  let furtherLinkLayer: HCI.LEFurtherFeatures
  private var host: HCI.LEFeatures = []
  private var furtherHost: HCI.LEFurtherFeatures = []
  /// The intervals of LE Connection Rate Request, if the Link Layer has it.
  let intervals: SupportedConnectionIntervals?
  /// Whether the host supports LE, as it last reported.
  private(set) var isLESupportedByHost = false

  init(_ linkLayer: HCI.LEFeatures, _ intervals: SupportedConnectionIntervals?) {
    // Periodic advertising begins with extended advertising (Vol 6, Part B, 4.6).
    var features = linkLayer
    if !features.contains(.extendedAdvertising) { features.remove(.periodicAdvertising) }
    if !features.contains(.periodicAdvertising) {
      features.subtract([
        .periodicAdvertisingSyncTransferSender, .periodicAdvertisingSyncTransferRecipient, .periodicAdvertisingADI,
      ])
    }
    // The bits of power control go together, and path loss needs the power of the peer (Vol 6, Part B, 4.6).
    if features.contains(.powerControlRequest) {
      features.insert(.powerChangeIndication)
    } else {
      features.subtract([.powerChangeIndication, .pathLossMonitoring])
    }
    if intervals != nil { features.insert(.llExtendedFeatureSet) }
    self.linkLayer = features
    furtherLinkLayer = intervals == nil ? [] : .shorterConnectionIntervals
    self.intervals = intervals
  }

  /// The features that the controller reports to its host and to the peers.
  var all: HCI.LEFeatures { linkLayer.union(host) }

  /// As ``all``, beyond the first 64.
  var allFurther: HCI.LEFurtherFeatures { furtherLinkLayer.union(furtherHost) }

  func contains(_ feature: HCI.LEFeatures) -> Bool { linkLayer.contains(feature) }

  /// Whether the Link Layer has the features that a command needs.
  func contains(_ command: SupportedCommand) -> Bool {
    linkLayer.isSuperset(of: command.feature) && furtherLinkLayer.isSuperset(of: command.furtherFeature)
  }

  mutating func setLESupportedByHost(_ isSupported: Bool) { isLESupportedByHost = isSupported }

  /// Performs either version of LE Set Host Feature. It is allowed only for bits that the host controls, and only
  /// without a link (Vol 4, Part E, 7.8.115).
  mutating func setHostFeature(_ number: UInt16, _ value: Bool, hasLinks: Bool) -> HCIErrorCode {
    let hostBits: HCI.LEFeatures = [
      .connectedIsochronousStreamHostSupport, .connectionSubratingHostSupport, .advertisingCodingSelectionHostSupport,
    ]
    let bit = number < 64 ? HCI.LEFeatures(rawValue: 1 << UInt64(number)) : []
    guard !hasLinks else { return .commandDisallowed }
    if number == 73, furtherLinkLayer.contains(.shorterConnectionIntervals) {
      furtherHost = value ? .shorterConnectionIntervalsHostSupport : []
      return .success
    }
    guard !bit.isEmpty, hostBits.contains(bit) else { return .unsupportedFeatureOrParameterValue }
    if value { host.formUnion(bit) } else { host.subtract(bit) }
    return .success
  }
}

extension HCI.LEFeatures {
  /// Whether a controller and its host support connection subrating.
  var supportsSubrating: Bool { isSuperset(of: [.connectionSubrating, .connectionSubratingHostSupport]) }

  /// The PHYs of a Link Layer with these features.
  var phys: HCI.PHYs {
    var phys: HCI.PHYs = .le1M
    if contains(.le2MPHY) { phys.insert(.le2M) }
    if contains(.leCodedPHY) { phys.insert(.leCoded) }
    return phys
  }
}
