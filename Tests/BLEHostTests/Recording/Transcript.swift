import BLEATT
import BLEGATT
import BLEHCI
import BLEHost
import BLEL2CAP
import BLESMP
import BLEWire

/// What one scenario made of its hosts, as lines of text: each request of the application, each packet that a host sent
/// to its controller, each event that it reported, each request to the kernel's security manager.
///
/// The words are the transcript's own and do not change when a type of the package is renamed. Texts for people
/// (diagnostics, error messages) are left out: they may be rewritten at any time.
struct Transcript {
  private(set) var lines: [String] = []
  /// Requests by the order of their appearance: a token's number is the server's own.
  private var tokens: [RequestToken] = []
  /// Reports of the same advertisement since the last step: two are written down, the others counted.
  private var reports: [String: Int] = [:]

  var text: String { lines.joined(separator: "\n") + "\n" }

  mutating func note(_ line: String) { lines.append(line) }

  /// Begins the next step.
  mutating func begin(_ step: Int) {
    for (report, count) in reports.sorted(by: { $0.key < $1.key }) where count > 2 {
      lines.append("\(count - 2) more: \(report)")
    }
    reports = [:]
    lines.append("-- \(step)")
  }

  mutating func sent(_ packet: [UInt8], by host: Int) { lines.append("\(host) > \(packet.hexadecimal)") }

  mutating func reported(_ event: HostEvent, by host: Int) {
    // Our address follows from the packets that a scenario records.
    if case .address = event { return }
    if case .scanning(.discovered(let found)) = event {
      for report in found {
        let line = "\(host) < \(Self.text(of: report))"
        reports[line, default: 0] += 1
        if reports[line, default: 0] <= 2 { lines.append(line) }
      }
      return
    }
    lines.append("\(host) < \(text(of: event))")
  }

  mutating func asked(_ directive: KernelCommand, by host: Int) {
    lines.append("\(host) ! \(Self.text(of: directive))")
  }

  private mutating func text(of event: HostEvent) -> String {
    switch event {
    case .address(let address): return "address \(address)"
    case .state(let state, let error): return "state \(state.rawValue) \(Self.text(of: error))"
    case .services(.added(let id, .success(let handles))):
      let attributes = handles.attributes.sorted { $0.key.rawValue < $1.key.rawValue }
        .map { "\($0.key.rawValue)@\($0.value.rawValue)" }
      return "service added \(id.rawValue) \(Self.text(of: handles.range)) \(attributes.joined(separator: " "))"
    case .services(.added(let id, .failure)): return "service not added \(id.rawValue)"
    case .services(.removed(let id, .success(let range))):
      return "service removed \(id.rawValue) \(Self.text(of: range))"
    case .services(.removed(let id, .failure)): return "service not removed \(id.rawValue)"
    case .refused(let error): return "refused \(Self.text(of: error))"
    case .advertising(let id, .started(.success)): return "advertising started \(id.rawValue)"
    case .advertising(let id, .started(.failure(let error))):
      return "advertising not started \(id.rawValue) \(Self.text(of: error))"
    case .advertising(let id, .paused(let code)): return "advertising paused \(id.rawValue) \(code?.rawValue ?? 0)"
    case .advertising(let id, .ended(let error)): return "advertising ended \(id.rawValue) \(Self.text(of: error))"
    case .advertising(let id, .resumed): return "advertising resumed \(id.rawValue)"
    case .connected(let link):
      let role = link.role == .central ? "central" : "peripheral"
      return
        "connected \(link.peer.rawValue) \(link.address) \(role) \(Self.text(of: link.timing)) \(link.request?.rawValue ?? 0)"
    case .link(let peer, .identified(let identity)): return "identified \(peer.rawValue) \(identity)"
    case .link(let peer, .disconnected(let reason)): return "disconnected \(peer.rawValue) \(reason.rawValue)"
    case .foreignLink(let device, let isUp): return "foreign link \(device) \(isUp ? "up" : "down")"
    case .link(let peer, .mtu(let mtu)): return "mtu \(peer.rawValue) \(mtu)"
    case .link(let peer, .connectionUpdated(let timing)): return "updated \(peer.rawValue) \(Self.text(of: timing))"
    case .link(let peer, .dataLength(let length)):
      return "data length \(peer.rawValue) \(length.transmitOctets) \(length.receiveOctets)"
    case .link(let peer, .connectionUpdateRefused(let error)):
      return "update refused \(peer.rawValue) \(Self.text(of: error))"
    case .link(let peer, .subrating(.success(let subrating))):
      return "subrating \(peer.rawValue) \(subrating.factor) \(subrating.latency) \(subrating.continuation)"
    case .link(let peer, .subrating(.failure(let error))):
      return "no subrating \(peer.rawValue) \(Self.text(of: error))"
    case .link(let peer, .power(.level(let end, .success(let level)))):
      return "power \(peer.rawValue) \(end == .local ? "local" : "remote") \(level ?? 127)"
    case .link(let peer, .power(.pathLoss(.success(let it)))):
      return "path loss \(peer.rawValue) \(it.zone) \(it.loss)"
    case .link(let peer, .power): return "no power \(peer.rawValue)"
    case .link(let peer, .connectionRate(.success(let rate))):
      return "rate \(peer.rawValue) \(rate.interval) \(rate.subrating.factor) \(rate.subrating.latency)"
    case .link(let peer, .connectionRate(.failure(let error))):
      return "no rate \(peer.rawValue) \(Self.text(of: error))"
    case .link(let peer, .rssi(.success(let rssi))): return "rssi \(peer.rawValue) \(rssi)"
    case .link(let peer, .rssi(.failure(let error))): return "no rssi \(peer.rawValue) \(Self.text(of: error))"
    case .link(let peer, .phy(.success(let phy))):
      return "phy \(peer.rawValue) \(phy.transmit.phy.rawValue) \(phy.receive.phy.rawValue)"
    case .link(let peer, .phy(.failure(let error))): return "no phy \(peer.rawValue) \(Self.text(of: error))"
    case .scanning(.discovered(let found)): return found.map { Self.text(of: $0) }.joined(separator: ", ")
    case .scanning(.stopped(let error)): return "scan stopped \(Self.text(of: error))"
    case .connectionFailed(let id, let error): return "connection failed \(id.rawValue) \(Self.text(of: error))"
    case .client(let peer, let event): return "client \(peer.rawValue) \(Self.text(of: event))"
    case .diagnostic(let diagnostic):
      return "diagnostic \(diagnostic.origin.rawValue) \(diagnostic.peer?.rawValue ?? 0)"
    default: return serverText(of: event) ?? securityText(of: event)
    }
  }

  private static func text(of report: ScanReport) -> String {
    "discovered \(report.address) \(report.isConnectable ? 1 : 0)\(report.isScanResponse ? 1 : 0)\(report.isTruncated ? 1 : 0) \(report.rssi) \(report.data.hexadecimal)"
  }

  private mutating func serverText(of event: HostEvent) -> String? {
    switch event {
    case .server(let peer, .read(let token, let attribute, let offset)):
      "read \(peer.rawValue) #\(number(of: token)) \(attribute.rawValue) +\(offset)"
    case .server(let peer, .write(let token, let parts)):
      "write \(peer.rawValue) #\(number(of: token)) "
        + parts.map { "\($0.attribute.rawValue)+\($0.offset)=\($0.value.hexadecimal)" }.joined(separator: " ")
    case .server(let peer, .command(let attribute, let value)):
      "write \(peer.rawValue) - \(attribute.rawValue)+0=\(value.hexadecimal)"
    case .server(let peer, .stored(let attribute, let value)):
      "stored \(peer.rawValue) \(attribute.rawValue)=\(value.hexadecimal)"
    case .server(let peer, .requestTimedOut(let token)): "request timed out \(peer.rawValue) #\(number(of: token))"
    case .server(let peer, .subscription(let attribute, let subscription)):
      "subscription \(peer.rawValue) \(attribute.rawValue) \(subscription.rawValue)"
    case .server(let peer, .updateFinished(let token)): "update finished \(peer.rawValue) \(token.rawValue)"
    default: nil
    }
  }

  private func securityText(of event: HostEvent) -> String {
    switch event {
    case .link(let peer, .security(let security)):
      "security \(peer.rawValue) \(security.level) \(security.keySize) bonded \(security.isBonded) proven \(security.isBondProven) authorized \(security.isAuthorized)"
    case .pairing(let peer, .question(let id, let question)):
      "pairing \(peer.rawValue) ?\(id.rawValue) \(Self.text(of: question))"
    case .pairing(let peer, .questionWithdrawn(let id)): "withdrawn \(peer.rawValue) ?\(id.rawValue)"
    case .pairing(let peer, .succeeded(let device)):
      "paired \(peer.rawValue) \(device.identity) bonded \(device.isBonded) \(Self.text(of: device.strength))"
    case .pairing(let peer, .failed(let failure)):
      "pairing failed \(peer.rawValue) \(failure.reason.rawValue) \(failure.origin)"
    case .pairing(let peer, .keypress(let keypress)): "keypress \(peer.rawValue) \(keypress.rawValue)"
    case .bonds(.changed(let bond)): "bond changed \(Self.text(of: bond))"
    case .bonds(.removed(let identity)): "bond removed \(identity)"
    case .bonds(.replaced(let peer, let identity)): "bond replaced \(peer.rawValue) \(identity)"
    case .bonds(.lost(let peer, let identity, let loss)):
      "bond lost \(peer.rawValue) \(identity) \(Self.text(of: loss))"
    default: "an event that the transcript has no words for"
    }
  }

  private mutating func number(of token: RequestToken) -> Int {
    if let known = tokens.firstIndex(of: token) { return known }
    tokens.append(token)
    return tokens.count - 1
  }
}

/// The words for the values inside.
extension Transcript {
  static func text(of error: HostError?) -> String {
    switch error {
    case nil: "-"
    case .notPoweredOn: "not-powered-on"
    case .controller(let opcode, let status): "controller \(opcode.rawValue) \(status.rawValue)"
    case .malformedAnswer(let opcode): "malformed-answer \(opcode.rawValue)"
    case .commandTimedOut(let opcode): "command-timed-out \(opcode.rawValue)"
    case .unsupported, .unsupportedByPeer, .disabled: "unsupported"
    case .transport: "transport"
    case .invalidParameters: "invalid-parameters"
    case .notConnected: "not-connected"
    case .tooMany(_, let limit): "too-many \(limit)"
    case .cancelled: "cancelled"
    case .peerRefused: "peer-refused"
    case .channelRefused(let result): "channel-refused \(result.rawValue)"
    case .notSecured: "not-secured"
    }
  }

  static func text(of range: ClosedRange<AttributeHandle>) -> String {
    "\(range.lowerBound.rawValue)-\(range.upperBound.rawValue)"
  }

  static func text(of timing: LinkTiming) -> String {
    "\(timing.interval)/\(timing.latency)/\(timing.supervisionTimeout)"
  }

  static func text(of question: PairingQuestion) -> String {
    switch question {
    case .consent: "consent"
    case .replaceBond: "replace"
    case .display(let passkey): "display \(passkey.digits)"
    case .enterPasskey: "enter"
    case .compare(let number): "compare \(number.digits)"
    }
  }

  static func text(of answer: PairingAnswer) -> String {
    switch answer {
    case .accept: "accept"
    case .reject: "reject"
    case .passkey(let passkey): "passkey \(passkey.digits)"
    }
  }

  static func text(of strength: KeyStrength?) -> String {
    guard let strength else { return "plain" }
    return
      "\(strength.size)\(strength.isAuthenticated ? "a" : "u")\(strength.isSecureConnections ? "s" : "l")"
  }

  static func text(of loss: BondLoss) -> String {
    switch loss {
    case .forgottenByPeer: "forgotten-by-peer"
    case .ownAddressChanged: "own-address-changed"
    case .missingHere: "missing-here"
    case .keysDiffer: "keys-differ"
    case .notEncrypted(let reason): "not-encrypted \(reason.rawValue)"
    }
  }

  private static func text(of key: SecretKey?) -> String { key.map { String($0.value, radix: 16) } ?? "-" }

  private static func text(of key: LongTermKey?) -> String {
    guard let key else { return "-" }
    return "\(text(of: key.value)),\(key.ediv),\(key.rand),\(text(of: key.strength))"
  }

  static func text(of bond: Bond) -> String {
    let client = bond.client.configurations.map { "\($0.descriptor.rawValue)=\($0.value.rawValue)" }
    let parts: [String] = [
      "\(bond.identity)", bond.addressOnAir.map { "\($0)" } ?? "-", text(of: bond.strength),
      text(of: bond.identityResolvingKey), text(of: bond.peripheralKey), text(of: bond.centralKey),
      text(of: bond.peerCSRK), "\(bond.peerSignCounter)", text(of: bond.ownCSRK), "\(bond.ownSignCounter)",
      "use \(bond.lastUse)",
      "[\(client.joined(separator: ","))]", "\(bond.client.supportedFeatures.rawValue)",
      bond.client.databaseHash.hexadecimal,
    ]
    return parts.joined(separator: " ")
  }

  static func text(of directive: KernelCommand) -> String {
    switch directive {
    case .setPairing(let settings): "policy \(settings == nil ? "none" : "some")"
    case .loadKeys(let keys): "load " + keys.map { "\($0.identity)" }.joined(separator: " ")
    case .forget(let address): "forget \(address)"
    case .answer(let address, let question, let answer):
      "answer \(address) \(text(of: question)): \(text(of: answer))"
    case .secure(let handle, let isAuthenticated): "secure \(handle) \(isAuthenticated)"
    case .listen(let number, let level, let mtu): "listen \(number) \(level) \(mtu)"
    case .stopListening(let number): "stop listening \(number)"
    }
  }

  static func text(of event: GATTClient.Event) -> String {
    switch event {
    case .finished(let id, .success(let outcome)): "done \(id.rawValue) \(text(of: outcome))"
    case .finished(let id, .failure(let error)): "failed \(id.rawValue) \(text(of: error))"
    case .notification(let handle, let value): "notification \(handle.rawValue)=\(value.hexadecimal)"
    case .indication(let handle, let value): "indication \(handle.rawValue)=\(value.hexadecimal)"
    case .servicesChanged(let range): "services changed \(text(of: range))"
    case .mtu(let mtu): "mtu \(mtu)"
    case .violation(let error): "violation \(text(of: error))"
    case .bearerFailed: "bearer failed"
    }
  }

  private static func text(of error: GATTClientError) -> String {
    switch error {
    case .errorResponse(let code, let request, let handle):
      "refused \(code.rawValue) \(request.rawValue) \(handle.rawValue)"
    case .malformedResponse(let opcode, _): "malformed \(opcode.rawValue)"
    case .unexpectedPDU(let opcode): "unexpected \(opcode.rawValue)"
    case .echoDiffers(let handle, let offset): "echo \(handle.rawValue)+\(offset)"
    case .servicesChanged: "services-changed"
    case .tooManyResults(let limit): "too-many-results \(limit)"
    case .tooManyOperations(let limit): "too-many-operations \(limit)"
    case .invalidParameters: "invalid-parameters"
    case .cannotSign: "cannot-sign"
    case .notEncrypted: "not-encrypted"
    case .signCounterNotStored: "sign-counter-not-stored"
    case .timedOut: "timed-out"
    case .linkEnded: "link-ended"
    case .bearerClosed: "bearer-closed"
    }
  }

  private static func text(of outcome: GATTClient.Outcome) -> String {
    switch outcome {
    case .done: "-"
    case .mtu(let mtu): "mtu \(mtu)"
    case .services(let services): services.map { "\(text(of: $0.handles)):\($0.uuid)" }.joined(separator: " ")
    case .includedServices(let services):
      services.map { "\($0.declaration.rawValue):\(text(of: $0.service.handles)):\($0.service.uuid)" }
        .joined(separator: " ")
    case .characteristics(let all):
      all.map { "\($0.declaration.rawValue):\($0.properties.rawValue):\($0.valueHandle.rawValue):\($0.uuid)" }
        .joined(separator: " ")
    case .descriptors(let all): all.map { "\($0.handle.rawValue):\($0.uuid)" }.joined(separator: " ")
    case .value(let value): value.hexadecimal
    case .values(let values): values.map { "\($0.handle.rawValue)=\($0.value.hexadecimal)" }.joined(separator: " ")
    case .configured(let handle): "configured \(handle.rawValue)"
    case .noConfiguration(let range): "no-configuration \(text(of: range))"
    case .incomplete(let found, let faults):
      "\(text(of: found)) without \(faults.map { "\(text(of: $0.handles)):\(text(of: $0.error))" }.joined(separator: " "))"
    }
  }
}
