/// How two devices make sure of each other, or that they do not (Vol 3, Part H, 2.3.5.1).
public enum AssociationModel: Hashable, Sendable {
  case justWorks
  case numericComparison
  case passkeyEntry(initiator: PasskeyPart, responder: PasskeyPart)
  case outOfBand

  /// What a user does on one of the devices.
  public enum PasskeyPart: Hashable, Sendable { case displays, enters }

  /// Whether it protects against a man in the middle.
  public var isAuthenticated: Bool { self != .justWorks }

  /// The model that two sets of features lead to (tables 2.6 to 2.8), and whether it is of Secure Connections.
  public static func chosen(
    request: PairingFeatures, response: PairingFeatures
  ) -> (model: Self, isSecureConnections: Bool) {
    let isSecure =
      request.authReq.contains(.secureConnections) && response.authReq.contains(.secureConnections)
    let oob = [request, response].filter { $0.oobDataFlag == .present }.count
    // Legacy pairing needs the data on both sides; Secure Connections can do with one.
    if oob == 2 || (isSecure && oob == 1) { return (.outOfBand, isSecure) }
    guard request.authReq.contains(.mitm) || response.authReq.contains(.mitm) else { return (.justWorks, isSecure) }
    return (byCapabilities(request.ioCapability, response.ioCapability, isSecure), isSecure)
  }

  private static func byCapabilities(
    _ initiator: IOCapability, _ responder: IOCapability, _ isSecure: Bool
  ) -> Self {
    if initiator == .noInputNoOutput || responder == .noInputNoOutput { return .justWorks }
    if isSecure, initiator.canCompare, responder.canCompare { return .numericComparison }
    switch (initiator.hasKeyboard, responder.hasKeyboard) {
    case (false, false): return .justWorks
    case (true, false): return .passkeyEntry(initiator: .enters, responder: .displays)
    case (false, true): return .passkeyEntry(initiator: .displays, responder: .enters)
    case (true, true):
      if initiator == .keyboardDisplay { return .passkeyEntry(initiator: .displays, responder: .enters) }
      if responder == .keyboardDisplay { return .passkeyEntry(initiator: .enters, responder: .displays) }
      return .passkeyEntry(initiator: .enters, responder: .enters)
    }
  }
}

extension IOCapability {
  var hasKeyboard: Bool { self == .keyboardOnly || self == .keyboardDisplay }
  /// Whether its user can read a number and say yes or no.
  var canCompare: Bool { self == .displayYesNo || self == .keyboardDisplay }
  var isDefined: Bool { rawValue <= IOCapability.keyboardDisplay.rawValue }
}
