internal import BLEHCI
public import BLEWire

/// The losses of paths between two controllers, in dB.
struct RadioPaths: Sendable {
  private struct Path: Hashable, Sendable {
    /// The slots of the controllers, the smaller one first.
    let first: Int
    let second: Int

    init(_ a: Int, _ b: Int) { (first, second) = (min(a, b), max(a, b)) }
  }

  private var losses: [Path: UInt8] = [:]

  /// The loss between the controllers in two slots; nil for that of the sender's configuration.
  func loss(_ a: Int, _ b: Int) -> UInt8? { losses.isEmpty ? nil : losses[Path(a, b)] }

  mutating func set(_ loss: UInt8?, _ a: Int, _ b: Int) { losses[Path(a, b)] = loss }

  /// Removes the paths of a slot, which another controller gets.
  mutating func removeAll(of slot: Int) { losses = losses.filter { $0.key.first != slot && $0.key.second != slot } }
}

/// A change of a transmit power or of a path, at a time.
struct RadioChange: Sendable {
  enum Kind: Sendable {
    /// In dBm.
    case power(ControllerID, Int8)
    /// In dB.
    case path(ControllerID, ControllerID, UInt8?)
  }

  let time: Instant
  let kind: Kind
}

/// Changes of transmit powers and of paths: RSSI is the power of the sender less the loss of the path.
extension VirtualRadio {
  /// Changes the transmit power of the links of a controller, of those that it has and of new ones. The peers receive
  /// them with another RSSI, and learn the power by LL_POWER_CHANGE_IND if they have requested it (Vol 6, Part B,
  /// 5.1.18). The change takes effect when the radio next runs: ``deadline`` is `now` then. Advertisements keep
  /// ``VirtualControllerConfiguration/txPower``.
  ///
  /// The power is in dBm, and limited to those that the controller can have: -20 to 20, or its configured one if that
  /// is outside.
  ///
  /// ```swift
  /// var radio = VirtualRadio(seed: 1)
  /// let id = radio.attach(now: .start)
  /// radio.setTransmitPower(-8, of: id, now: .start)
  /// ```
  public mutating func setTransmitPower(_ level: Int8, of id: ControllerID, now: Instant) {
    changes.append(RadioChange(time: now, kind: .power(id, level)))
    invalidateDeadline()
  }

  /// Changes the loss of the path between two controllers, in both directions: of their links, and of what they
  /// advertise. Controllers that monitor the path loss report a new zone (Vol 6, Part B, 4.5.16). The change takes
  /// effect when the radio next runs: ``deadline`` is `now` then.
  ///
  /// The loss is in dB; nil is that of the configurations: `txPower` less `rssi` of the sender.
  ///
  /// ```swift
  /// var radio = VirtualRadio(seed: 1)
  /// let (phone, sensor) = (radio.attach(now: .start), radio.attach(now: .start))
  /// radio.setPathLoss(80, between: phone, and: sensor, now: .start)  // received with -80 dBm at 0 dBm
  /// ```
  public mutating func setPathLoss(_ loss: UInt8?, between a: ControllerID, and b: ControllerID, now: Instant) {
    changes.append(RadioChange(time: now, kind: .path(a, b, loss)))
    invalidateDeadline()
  }

  /// Performs the changes that are due, in their order.
  mutating func performChanges() {
    let due = changes.prefix { $0.time <= context.now }
    changes.removeFirst(due.count)
    for change in due {
      switch change.kind {
      case .power(let id, let level): perform(level, of: id)
      case .path(let a, let b, let loss): perform(loss, between: a, and: b)
      }
      deliver()
    }
  }

  private mutating func perform(_ level: Int8, of id: ControllerID) {
    guard let slot = slot(of: id) else { return }
    controllers[slot].setTransmitPower(level, &context)
    for end in controllers[slot].linkEnds {
      controllers[end.peer].setRSSI(rssi(of: slot, at: end.peer, on: end.id), on: end.id)
    }
  }

  private mutating func perform(_ loss: UInt8?, between a: ControllerID, and b: ControllerID) {
    guard let first = slot(of: a), let second = slot(of: b), first != second else { return }
    context.paths.set(loss, first, second)
    for (receiver, sender) in [(first, second), (second, first)] {
      for end in controllers[receiver].linkEnds where end.peer == sender {
        controllers[receiver].setRSSI(rssi(of: sender, at: receiver, on: end.id), on: end.id)
        controllers[receiver].measurePath(on: end.id, &context)
      }
    }
  }

  /// The RSSI in dBm at which a controller receives a link of another one.
  ///
  /// - Parameter link: nil for a new link.
  func rssi(of sender: Int, at receiver: Int, on link: UInt64? = nil) -> Int8 {
    let power = link.flatMap { controllers[sender].transmitPower(on: $0) } ?? controllers[sender].newLinkPower.level
    let loss = context.paths.loss(sender, receiver).map { Int($0) } ?? controllers[sender].pathLoss
    return Int8(min(max(Int(power) - loss, -127), 20))
  }

  /// The RSSI in dBm at which a controller receives the advertisements of another one.
  func advertisingRSSI(of sender: Int, at receiver: Int) -> Int8 {
    guard let loss = context.paths.loss(sender, receiver) else { return controllers[sender].rssi }
    return Int8(min(max(Int(controllers[sender].rssi) + controllers[sender].pathLoss - Int(loss), -127), 20))
  }

  /// An advertisement as a controller receives it.
  func received(_ advertisement: AdvertisingPDU, by receiver: Int) -> AdvertisingPDU {
    guard context.paths.loss(advertisement.sender, receiver) != nil else { return advertisement }
    var received = advertisement
    received.rssi = advertisingRSSI(of: advertisement.sender, at: receiver)
    return received
  }
}
