internal import BLEHost
internal import BLESMP
internal import BLEWire

/// Pairing, keys and bonds as messages of the management protocol (Docs/Decisions/kernel.md#pairing).
extension KernelCommand {
  /// The management commands that perform this command; none for a command to the socket of a link or of a service.
  var managementRequests: [ManagementRequest] {
    switch self {
    case .setPairing(nil): return [ManagementRequest(Management.SetBondable(0))]
    case .setPairing(let settings?):
      let secureConnections: UInt8 = settings.allowsSecureConnections ? (settings.allowsLegacy ? 1 : 2) : 0
      return [
        ManagementRequest(Management.SetSecureConnections(secureConnections)),
        ManagementRequest(Management.SetIOCapability(settings.ioCapability.rawValue)),
        ManagementRequest(Management.SetBondable(settings.isBonding ? 1 : 0)),
      ]
    case .loadKeys(let all):
      var longTermKeys = Management.LoadLongTermKeys()
      longTermKeys.keys = all.flatMap(\.managementLongTermKeys)
      var resolvingKeys = Management.LoadIdentityResolvingKeys()
      resolvingKeys.keys = all.compactMap(\.managementResolvingKey)
      return [ManagementRequest(longTermKeys), ManagementRequest(resolvingKeys)]
    case .forget(let device):
      var unpair = Management.UnpairDevice()
      unpair.device = ManagementAddress(device)
      return [ManagementRequest(unpair)]
    case .answer(let device, let question, let answer):
      return [Self.request(device, question, answer)].compactMap(\.self)
    case .secure, .listen, .stopListening: return []
    }
  }

  private static func request(
    _ device: DeviceAddress, _ question: PairingQuestion, _ answer: PairingAnswer
  ) -> ManagementRequest? {
    switch (question, answer) {
    case (.consent, .accept), (.replaceBond, .accept), (.compare, .accept):
      return ManagementRequest(Management.UserConfirmationReply(device))
    case (.consent, _), (.replaceBond, _), (.compare, _):
      return ManagementRequest(Management.UserConfirmationNegativeReply(device))
    case (.enterPasskey, .passkey(let passkey)):
      var reply = Management.UserPasskeyReply()
      reply.device = ManagementAddress(device)
      reply.passkey = passkey.value
      return ManagementRequest(reply)
    case (.enterPasskey, _): return ManagementRequest(Management.UserPasskeyNegativeReply(device))
    // The kernel has no command to withdraw a passkey that is shown, so the link is disconnected.
    case (.display, .reject): return ManagementRequest(Management.Disconnect(device))
    case (.display, _): return nil
    }
  }
}

extension KernelKeys {
  fileprivate var managementLongTermKeys: [ManagementLongTermKey] {
    var keys: [ManagementLongTermKey] = []
    if let peripheralKey { keys.append(ManagementLongTermKey(identity, peripheralKey, isCentrals: false)) }
    // A Secure Connections key serves both roles.
    if let centralKey, !(centralKey.strength.isSecureConnections && centralKey == peripheralKey) {
      keys.append(
        ManagementLongTermKey(identity, centralKey, isCentrals: !centralKey.strength.isSecureConnections))
    }
    return keys
  }

  fileprivate var managementResolvingKey: Management.LoadIdentityResolvingKeys.Key? {
    identityResolvingKey.map { secret in
      var key = Management.LoadIdentityResolvingKeys.Key()
      key.device = ManagementAddress(identity)
      key.value = secret.value
      return key
    }
  }
}

extension ManagementLongTermKey {
  fileprivate init(_ device: DeviceAddress, _ key: LongTermKey, isCentrals: Bool) {
    self.init()
    self.device = ManagementAddress(device)
    kind =
      switch (key.strength.isSecureConnections, key.strength.isAuthenticated) {
      case (false, false): .legacyUnauthenticated
      case (false, true): .legacyAuthenticated
      case (true, false): .secureConnectionsUnauthenticated
      case (true, true): .secureConnectionsAuthenticated
      }
    self.isCentrals = isCentrals ? 1 : 0
    size = key.strength.size
    ediv = key.ediv
    rand = key.rand
    value = key.value.value
  }

  private var isSecureConnections: Bool { kind.rawValue >= Kind.secureConnectionsUnauthenticated.rawValue }

  private var isAuthenticated: Bool { kind == .legacyAuthenticated || kind == .secureConnectionsAuthenticated }

  fileprivate var key: LongTermKey {
    let strength = KeyStrength(
      size: size, isAuthenticated: isAuthenticated, isSecureConnections: isSecureConnections)
    return LongTermKey(value: SecretKey(value), ediv: ediv, rand: rand, strength: strength)
  }

  fileprivate var use: KernelReport.KeyUse {
    isSecureConnections ? .both : isCentrals == 1 ? .central : .peripheral
  }

  /// Whether the key was made with the debug key that the specification publishes, or in a way that was added later.
  fileprivate var isDebugKey: Bool { kind.rawValue >= Kind.secureConnectionsDebug.rawValue }
}

extension KernelReport {
  /// The report for an event; nil for events that do not concern pairing, and for BR/EDR devices.
  init?(_ event: Management.Event) {
    switch event {
    case .newLongTermKey(let event):
      guard let device = event.key.device.device, (7...16).contains(event.key.size) else { return nil }
      let isToBeKept = event.storeHint == 1 && !event.key.isDebugKey
      self = .longTermKey(device, event.key.key, event.key.use, isToBeKept: isToBeKept)
    case .userConfirmationRequest(let event):
      guard let device = event.device.device else { return nil }
      self = .asked(device, event.confirmHint == 1 ? .consent : .compare(Passkey(lowestDigitsOf: event.value)))
    case .userPasskeyRequest(let event):
      guard let device = event.device.device else { return nil }
      self = .asked(device, .enterPasskey)
    case .passkeyNotify(let event):
      guard let device = event.device.device, let passkey = Passkey(event.passkey) else { return nil }
      self = .asked(device, .display(passkey))
    case .authenticationFailed(let event):
      guard let device = event.device.device else { return nil }
      self = .failed(device)
    case .newIdentityResolvingKey(let event):
      guard let device = event.device.device else { return nil }
      let used =
        event.randomAddress.value == 0 ? device : DeviceAddress(octets: event.randomAddress, kind: .random)
      self = .identity(device, usedAs: used, SecretKey(event.value))
    case .newSignatureResolvingKey(let event):
      guard let device = event.device.device else { return nil }
      self = .signatureKey(device, SecretKey(event.value), isOurs: event.kind == 0 || event.kind == 2)
    case .commandComplete, .commandStatus, .indexAdded, .indexRemoved, .newSettings, .classOfDeviceChanged,
      .localNameChanged, .deviceConnected, .discovering:
      return nil
    }
  }
}
