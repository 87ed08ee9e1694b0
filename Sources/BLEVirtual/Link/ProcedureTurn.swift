internal import BLEHCI
internal import BLEWire

/// An effect that a procedure requests from its link.
enum ProcedureEffect: Sendable {
  /// Send a control PDU.
  case send(LinkLayerPDU)
  /// Send the data that has waited for the procedure.
  case releaseData
  /// End the link on this side, and report the reason to the host.
  case end(HCIErrorCode)
}

/// One input of a link: the facts about its controller that the procedures need, and the effects that they append.
struct ProcedureTurn: Sendable {
  /// The facts about a controller that all its links need.
  struct Controller: Sendable {
    let host: HostInterface
    /// The features of the Link Layer.
    let features: HCI.LEFeatures
    /// The features of the Link Layer, and those that the host adds.
    let announcedFeatures: HCI.LEFeatures
    /// LL_VERSION_IND.
    let version: LinkLayerPDU
    /// The data length that the host suggests for new links.
    let suggestedDataLength: DataLength
    /// The PHYs that the host prefers.
    let preferredPHYs: (transmit: HCI.PHYs, receive: HCI.PHYs)
    /// The features beyond the first 64, and those that the host adds.
    let furtherFeatures: HCI.LEFurtherFeatures
    /// The intervals of LE Connection Rate Request; nil unless the controller and its host support them.
    let rateIntervals: SupportedConnectionIntervals?

    /// Whether the controller and its host support connection subrating.
    var supportsSubrating: Bool { announcedFeatures.supportsSubrating }
  }

  let controller: Controller
  let handle: ConnectionHandle
  let role: HCI.Role
  private(set) var effects: [ProcedureEffect] = []

  init(_ controller: Controller, handle: ConnectionHandle, role: HCI.Role) {
    self.controller = controller
    self.handle = handle
    self.role = role
  }

  var host: HostInterface { controller.host }

  mutating func send(_ pdu: LinkLayerPDU) { effects.append(.send(pdu)) }

  mutating func releaseData() { effects.append(.releaseData) }

  mutating func end(_ reason: HCIErrorCode) { effects.append(.end(reason)) }
}
