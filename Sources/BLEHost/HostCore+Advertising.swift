import BLEHCI
import BLEWire

/// One declared advertisement and how far the controller is with it.
///
/// ```
///   start ─► parameters ─► (address) ─► data ─► scan response ─► enable ─► advertising ─── stop ───► disable ─► gone
///                                                                 ▲             │ a link took it
///                                                                 ├── resting ◄─┤ or the controller has no room
///                                                                 └──── held ◄──┘ the controller is to be still
/// ```
struct Advertisement: Sendable {
  enum Phase: Equatable, Sendable {
    /// The command of this step is on its way.
    case configuring(AdvertisingStep)
    case advertising
    /// Configured in the controller, but off until a link ends.
    case resting
    /// Configured in the controller, but off until it has taken a change (``Stillness``).
    case held
    /// The controller has forgotten it; it comes back with the next bring-up.
    case suspended
  }

  /// Whether the controller may be sending it.
  var isOnAir: Bool { phase == .advertising || phase == .configuring(.hold) }

  let id: AdvertisingID
  let owner: OwnerID
  var intent: AdvertisingIntent
  /// The advertising handle of extended commands.
  var set: UInt8
  var phase: Phase
  /// The application wants it stopped as soon as the step under way is done.
  var isStopping = false
  /// Its start has been answered.
  var isAnnounced = false
  /// It was on when it was held: the application does not hear that it is on again.
  var wasHeld = false
  /// A link took it while it was being held.
  var wasTaken = false
  /// Our address that it was configured with.
  var address: DeviceAddress?
}

/// The commands that make an advertisement, in order (Vol 6, Part D, 4.1).
enum AdvertisingStep: Sendable { case parameters, randomAddress, data, scanResponse, enable, hold, disable, remove }

extension HostCore {
  mutating func startAdvertising(
    _ id: AdvertisingID, _ intent: AdvertisingIntent, for owner: OwnerID, now: Instant, into output: inout HostOutput
  ) {
    do throws(HostError) {
      try check(id, intent)
    } catch {
      return output.append(.advertisingStarted(id, .failure(error)), to: owner.recipient)
    }
    let used = Set(advertisements.map(\.set))
    let set = (0...UInt8.max).first { !used.contains($0) } ?? 0
    advertisements.append(Advertisement(id: id, owner: owner, intent: intent, set: set, phase: .suspended))
    take(.parameters, advertisements.count - 1, now: now, into: &output)
  }

  private func check(_ id: AdvertisingID, _ intent: AdvertisingIntent) throws(HostError) {
    guard state == .poweredOn, shutdownDeadline == nil else { throw .notPoweredOn }
    guard !advertisements.contains(where: { $0.id == id }) else {
      throw .invalidParameters("the advertisement \(id.rawValue) is running already: stop it first")
    }
    let limit =
      controller.usesExtendedCommands
      ? min(max(1, controller.advertisingSets), configuration.maximumAdvertisements) : 1
    guard advertisements.count < limit else { throw .tooMany("advertisements with this controller", limit: limit) }
    guard !intent.usesExtendedPDUs || controller.usesExtendedCommands else {
      throw .unsupported("extended advertising")
    }
    let room =
      intent.usesExtendedPDUs
      ? min(controller.maximumAdvertisingData, HCI.maximumAdvertisingDataFragment)
      : LinkLayerLimits.legacyAdvertisingData
    for (area, octets) in [("advertising data", intent.data.count), ("scan response", intent.scanResponse.count)]
    where octets > room {
      throw .invalidParameters("the \(area) has \(octets) octets, \(room) fit")
    }
    if intent.usesExtendedPDUs, intent.isConnectable, !intent.scanResponse.isEmpty {
      throw .invalidParameters(
        "extended connectable advertising has no scan response (Vol 6, Part B, 4.4.2): put all into the advertising data"
      )
    }
    guard intent.interval.lowerBound >= 0x20, intent.interval.upperBound <= 0x4000 else {
      throw .invalidParameters("the advertising interval lies outside 0x0020 to 0x4000 units of 0.625 ms")
    }
  }

  mutating func stopAdvertising(
    _ id: AdvertisingID, of owner: OwnerID, now: Instant, into output: inout HostOutput
  ) {
    guard let index = advertisements.firstIndex(where: { $0.id == id && $0.owner == owner }) else { return }
    switch advertisements[index].phase {
    case .configuring: advertisements[index].isStopping = true
    case .advertising: take(.disable, index, now: now, into: &output)
    case .resting where controller.usesExtendedCommands, .held where controller.usesExtendedCommands:
      take(.remove, index, now: now, into: &output)
    case .resting, .held, .suspended: advertisements.remove(at: index)
    }
  }

  mutating func advertisingStepCompleted(
    _ id: AdvertisingID, _ step: AdvertisingStep, _ opcode: HCIOpcode, _ status: HCIErrorCode, now: Instant,
    into output: inout HostOutput
  ) {
    guard let index = advertisements.firstIndex(where: { $0.id == id }),
      advertisements[index].phase == .configuring(step)
    else { return }
    if step == .remove || (step == .disable && !controller.usesExtendedCommands) {
      advertisements.remove(at: index)
      return
    }
    if step == .disable { return take(.remove, index, now: now, into: &output) }
    if step == .hold { return advertisingHeld(index, now: now, into: &output) }
    if status != .success { return advertisingFailed(index, step, opcode, status, into: &output) }
    if advertisements[index].isStopping {
      return take(step == .enable ? .disable : .remove, index, now: now, into: &output)
    }
    switch step {
    case .parameters:
      let needsAddress = controller.usesExtendedCommands && advertisements[index].address?.kind == .random
      take(needsAddress ? .randomAddress : .data, index, now: now, into: &output)
    case .randomAddress: take(.data, index, now: now, into: &output)
    case .data: take(.scanResponse, index, now: now, into: &output)
    case .scanResponse: enable(index, now: now, into: &output)
    case .enable: advertisingRuns(index, into: &output)
    case .hold, .disable, .remove: break
    }
  }

  private mutating func advertisingRuns(_ index: Int, into output: inout HostOutput) {
    advertisements[index].phase = .advertising
    if advertisements[index].wasHeld {
      advertisements[index].wasHeld = false
    } else if advertisements[index].isAnnounced {
      output.append(.advertisingResumed(advertisements[index].id), to: advertisements[index].owner.recipient)
    } else {
      advertisements[index].isAnnounced = true
      output.append(
        .advertisingStarted(advertisements[index].id, .success(())), to: advertisements[index].owner.recipient)
    }
  }

  private mutating func advertisingFailed(
    _ index: Int, _ step: AdvertisingStep, _ opcode: HCIOpcode, _ status: HCIErrorCode, into output: inout HostOutput
  ) {
    let (id, recipient) = (advertisements[index].id, advertisements[index].owner.recipient)
    // No room beside the links that are up: it waits for one of them to end.
    if step == .enable, !links.isEmpty, !advertisements[index].isStopping {
      (advertisements[index].phase, advertisements[index].wasHeld) = (.resting, false)
      if !advertisements[index].isAnnounced {
        advertisements[index].isAnnounced = true
        output.append(.advertisingStarted(id, .success(())), to: recipient)
      }
      return output.append(.advertisingPaused(id, status), to: recipient)
    }
    let wasAnnounced = advertisements[index].isAnnounced
    advertisements.remove(at: index)
    if wasAnnounced {
      output.append(.refused(.controller(opcode, status)), to: recipient)
    } else {
      output.append(.advertisingStarted(id, .failure(.controller(opcode, status))), to: recipient)
    }
  }

  /// A central connected: the controller has switched the advertisement off that it answered (Vol 6, Part B, 4.4.2).
  ///
  /// With extended commands ``advertisingSetTerminated(_:now:into:)`` says which one.
  mutating func advertisingStoppedByLink(now: Instant, into output: inout HostOutput) {
    guard !controller.usesExtendedCommands else { return }
    guard let index = advertisements.firstIndex(where: { $0.isOnAir && $0.intent.isConnectable }) else { return }
    advertisingTaken(index, now: now, into: &output)
  }

  mutating func advertisingSetTerminated(
    _ event: HCI.LEAdvertisingSetTerminated, now: Instant, into output: inout HostOutput
  ) {
    guard
      let index = advertisements.firstIndex(where: { $0.set == event.advertisingHandle && $0.isOnAir })
    else { return }
    advertisingTaken(index, now: now, into: &output)
  }

  private mutating func advertisingTaken(_ index: Int, now: Instant, into output: inout HostOutput) {
    if advertisements[index].phase == .configuring(.hold) { return advertisements[index].wasTaken = true }
    advertisements[index].phase = .resting
    let (id, owner) = (advertisements[index].id, advertisements[index].owner)
    if advertisements[index].intent.continuesWhileConnected {
      enable(index, now: now, into: &output)
    } else if advertisements[index].intent.resumesAfterDisconnection {
      output.append(.advertisingPaused(id, nil), to: owner.recipient)
    } else {
      output.append(.advertisingPaused(id, nil), to: owner.recipient)
      advertisements[index].phase = .suspended
      stopAdvertising(id, of: owner, now: now, into: &output)
    }
  }

  /// A link ended: what rested for it begins again.
  mutating func advertisingMayResume(now: Instant, into output: inout HostOutput) {
    guard state == .poweredOn, shutdownDeadline == nil else { return }
    for index in advertisements.indices where advertisements[index].phase == .resting {
      enable(index, now: now, into: &output)
    }
  }

  /// The controller lost its state; the intents stay.
  mutating func suspendAdvertising() {
    advertisements.removeAll(where: \.isStopping)
    for index in advertisements.indices {
      (advertisements[index].phase, advertisements[index].wasHeld, advertisements[index].wasTaken) = (
        .suspended, false, false
      )
    }
  }

  mutating func restoreAdvertising(now: Instant, into output: inout HostOutput) {
    for index in advertisements.indices where advertisements[index].phase == .suspended {
      take(.parameters, index, now: now, into: &output)
    }
  }

  /// Switches a configured advertisement on; where our address is another one by now, it is configured anew.
  private mutating func enable(_ index: Int, now: Instant, into output: inout HostOutput) {
    if stillness.isHolding {
      advertisements[index].phase = .held
    } else {
      let isCurrent = advertisements[index].address == addressOnAir
      take(isCurrent ? .enable : .parameters, index, now: now, into: &output)
    }
  }

  private mutating func take(
    _ step: AdvertisingStep, _ index: Int, now: Instant, into output: inout HostOutput
  ) {
    advertisements[index].phase = .configuring(step)
    if step == .parameters { advertisements[index].address = addressOnAir }
    let advertisement = advertisements[index]
    if controller.usesExtendedCommands {
      sendExtended(step, advertisement, now: now, into: &output)
    } else {
      sendLegacy(step, advertisement, now: now, into: &output)
    }
  }

  /// Whether the controller may be sending an advertisement, or is about to.
  var isAdvertisingOnAir: Bool {
    advertisements.contains { $0.isOnAir || $0.phase == .configuring(.enable) || $0.phase == .configuring(.disable) }
  }

  /// Switches off what is on, until ``releaseAdvertising(now:into:)``.
  mutating func holdAdvertising(now: Instant, into output: inout HostOutput) {
    for index in advertisements.indices where advertisements[index].phase == .advertising {
      take(.hold, index, now: now, into: &output)
    }
  }

  private mutating func advertisingHeld(_ index: Int, now: Instant, into output: inout HostOutput) {
    let wasTaken = advertisements[index].wasTaken
    advertisements[index].wasTaken = false
    advertisements[index].phase = .held
    if advertisements[index].isStopping {
      stopAdvertising(advertisements[index].id, of: advertisements[index].owner, now: now, into: &output)
    } else if wasTaken {
      advertisingTaken(index, now: now, into: &output)
    } else {
      advertisements[index].wasHeld = true
    }
  }

  mutating func releaseAdvertising(now: Instant, into output: inout HostOutput) {
    for index in advertisements.indices where advertisements[index].phase == .held {
      enable(index, now: now, into: &output)
    }
  }
}
