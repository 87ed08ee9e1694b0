import BLECrypto
import BLEGATT
import BLEHCI
package import BLEWire

/// Bringing the controller up, losing it, and putting it away.
extension HostCore {
  /// The events the host acts on (Vol 4, Part E, 7.3.1): disconnection, encryption, version, command, hardware, buffers,
  /// key refresh, LE meta.
  static let eventMask: HCI.EventMask = [
    .disconnectionComplete, .encryptionChange, .readRemoteVersionInformationComplete, .hardwareError,
    .dataBufferOverflow, .encryptionKeyRefreshComplete, .leMeta,
  ]

  static func leEventMask(for controller: ControllerCapabilities) -> HCI.LEEventMask {
    var mask: HCI.LEEventMask = [
      .connectionComplete, .advertisingReport, .connectionUpdateComplete, .readRemoteFeaturesComplete,
      .longTermKeyRequest,
    ]
    if controller.leFeatures.contains(.connectionParametersRequest) {
      mask.insert(.remoteConnectionParameterRequest)
    }
    if controller.leFeatures.contains(.dataPacketLengthExtension) { mask.insert(.dataLengthChange) }
    if controller.leFeatures.contains(.llPrivacy) { mask.insert(.enhancedConnectionComplete) }
    if controller.usesExtendedCommands {
      mask.formUnion([.phyUpdateComplete, .extendedAdvertisingReport, .advertisingSetTerminated, .scanTimeout])
    }
    return mask
  }

  mutating func bringUp(now: Instant, into output: inout HostOutput) {
    bringUps += 1
    controller = ControllerCapabilities()
    sendSetup(.first(configuration.ownership), now: now, into: &output)
  }

  mutating func setupCompleted(
    _ step: SetupStep, _ status: HCIErrorCode, _ returned: Bytes, now: Instant, into output: inout HostOutput
  ) {
    var failure: HCIErrorCode? = status == .success ? nil : status
    if failure == nil {
      do throws(CodecError) {
        try learn(step, from: returned)
      } catch {
        report(.controller, "the answer to \(step) is malformed: \(error)", into: &output)
        failure = .unspecifiedError
      }
    }
    if let failure, step.isRequired {
      return giveUp(.controller(Self.opcode(of: step), failure), into: &output)
    }
    if step == .leFeatures { chooseAddress(now: now, into: &output) }
    let next = step.following(
      controller, usesRandomAddress: addressOnAir.kind == .random, ownership: configuration.ownership)
    if let next {
      sendSetup(next, now: now, into: &output)
    } else {
      powerOn(now: now, into: &output)
    }
  }

  private mutating func powerOn(now: Instant, into output: inout HostOutput) {
    guard controller.aclLength > 0, controller.aclCount > 0 else {
      return giveUp(.unsupported("buffers for LE data"), into: &output)
    }
    bringUps = 0
    acl.setBuffers(length: controller.aclLength, count: controller.aclCount)
    setState(.poweredOn, nil, into: &output)
    addresses.poweredOn(now: now)
    database.setCentralAddressResolution(controller.resolvedPeers > 0)
    restoreTrust(into: &output)
    withAdvertiser(now: now, into: &output) { $0.restore($1, into: &$2) }
    reconcileScanner(now: now, into: &output)
    reconcileInitiator(now: now, into: &output)
  }

  mutating func commandTimedOut(_ opcode: HCIOpcode, now: Instant, into output: inout HostOutput) {
    let error = HostError.commandTimedOut(opcode)
    guard bringUps < configuration.maximumBringUps else { return giveUp(error, into: &output) }
    lose(.resetting, error, into: &output)
    bringUp(now: now, into: &output)
  }

  /// The controller reported that it failed (Vol 4, Part E, 7.7.16): only a reset mends that.
  mutating func hardwareFailed(code: UInt8, now: Instant, into output: inout HostOutput) {
    // The kernel resets its own controller; its transport then tells how that went.
    guard configuration.ownership == .exclusive else { return }
    report(.controller, "hardware error 0x\(String(code, radix: 16)): it is reset", into: &output)
    guard bringUps < configuration.maximumBringUps else {
      return giveUp(.controller(.none, .hardwareFailure), into: &output)
    }
    lose(.resetting, nil, into: &output)
    bringUp(now: now, into: &output)
  }

  /// The pipe to the controller ended: links are gone. ``start(now:into:)`` brings everything back when there is a new one.
  ///
  /// - Parameter state: what the adapter is now: `resetting` while it is expected back, or worse.
  package mutating func transportFailed(
    _ error: HostError, state: AdapterState = .resetting, now: Instant, into output: inout HostOutput
  ) {
    time = now
    lose(state, error, into: &output)
    if shutdownDeadline != nil { finishShutdown() }
  }

  private mutating func giveUp(_ error: HostError, into output: inout HostOutput) {
    lose(.unsupported, error, into: &output)
  }

  /// Ends every link and every running activity, keeps the intents.
  private mutating func lose(_ state: AdapterState, _ error: HostError?, into output: inout HostOutput) {
    for purpose in queue.removeAll() { abandon(purpose, into: &output) }
    for link in links.reversed() { removeLink(link.handle, reason: .hardwareFailure, into: &output) }
    acl.removeAll()
    supersededHandles = []
    advertiser.suspend()
    scanner.suspend()
    initiator.suspend()
    addresses.suspend()
    setState(state, error, into: &output)
  }

  /// A command that will have no answer any more.
  func abandon(_ purpose: Purpose, into output: inout HostOutput) {
    switch purpose {
    case .rssi(let peer, let owner): output.append(.rssi(peer, .failure(.notPoweredOn)), to: owner.recipient)
    case .connectionUpdate(let peer, let owner):
      output.append(.connectionUpdateRefused(peer, .notPoweredOn), to: owner.recipient)
    // The state that follows tells the rest.
    case .setup, .advertising, .scanning, .initiating, .disconnect, .endingSuperseded, .encryption, .address, .reply:
      break
    }
  }

  private mutating func setState(_ new: AdapterState, _ error: HostError?, into output: inout HostOutput) {
    guard new != state || error != nil else { return }
    (state, stateReason) = (new, error)
    output.append(.state(new, error))
  }

  /// Puts the controller away: advertising off, links ended. ``isShutDown`` tells when there is nothing more to wait for.
  package mutating func shutdown(now: Instant, into output: inout HostOutput) {
    guard shutdownDeadline == nil, !isShutDown else { return }
    time = now
    reportAllBonds(into: &output)
    guard state == .poweredOn else { return finishShutdown() }
    shutdownDeadline = now + configuration.shutdownTimeout
    withAdvertiser(now: now, into: &output) { $0.stopAll($1, into: &$2) }
    withScanner(now: now, into: &output) { $0.stopAll($1, into: &$2) }
    withInitiator(now: now, into: &output) { $0.cancelAll(into: &$2) }
    for link in links {
      performLink(.disconnect(link.peer, .remoteUserTerminatedConnection), from: .process, now: now, into: &output)
    }
    checkShutdown()
  }

  /// Ends the shutdown once every command is answered and every link is down.
  mutating func checkShutdown() {
    if shutdownDeadline != nil, links.isEmpty, queue.isIdle { finishShutdown() }
  }

  mutating func finishShutdown() {
    shutdownDeadline = nil
    isShutDown = true
  }

  private static func opcode(of step: SetupStep) -> HCIOpcode {
    switch step {
    case .reset: .reset
    case .publicAddress: .readBDADDR
    case .leFeatures: .leReadLocalSupportedFeatures
    case .leBufferSize: .leReadBufferSize
    case .eventMask: .setEventMask
    case .leEventMask: .leSetEventMask
    default: .none
    }
  }
}
