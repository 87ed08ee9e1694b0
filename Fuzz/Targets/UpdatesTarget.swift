import BLEATT
import BLEGATT
import BLEHCI
import BLEWire
import Foundation

@testable import BLEAdapter
@testable import BLEHost
@testable import BLEKit
@testable import CoreBluetoothTypes

/// The windows of values of both APIs over those of the host, for links that come, go, subscribe, and take their values
/// or do not.
///
/// It requires that
/// - the host has room for what both APIs send to a link;
/// - the end of each value is reported once for each link;
/// - a link that has taken all of its values waits for no other, and neither does an application that sends to it;
/// - a link misses a value only while it has no room, and one for it alone never;
/// - the values of a link leave in order;
/// - nothing is kept of what has left, nor of a link that has ended.
func fuzzUpdates(_ input: inout FuzzInput) {
  var run = UpdatesRun()
  while !input.isEmpty, run.steps < UpdatesRun.stepLimit { run.step(&input) }
  run.finish()
}

private struct UpdatesRun {
  static let stepLimit = 300
  static let linkLimit = 5
  /// The owners of the two APIs, and what the host has of each for one link at most.
  static let (kit, manager) = (OwnerID(rawValue: 1), OwnerID(rawValue: 2))
  static let (kitWindow, managerWindow) = (WaitingUpdates.window, PeripheralLimits().pendingUpdates)

  struct Link {
    var updates = LinkUpdates(limit: kitWindow + managerWindow)
    var subscriptions: [AttributeID: Subscription] = [:]
    /// What the host has reported no end of.
    var underWay: [LinkUpdates.Entry] = []
    /// Notifications in the controller, and the attributes of the indications that are not confirmed.
    var notifications = 0
    var indications: [AttributeID] = []
    /// The values of BLEKit that wait, and the newest one that the host has got.
    var waiting: [UpdateToken] = []
    var newest = UpdateToken(rawValue: 0)
    /// How many values have left.
    var taken = 0
    /// A value for several links was sent without this one, which had no room. Until one of its values leaves, values
    /// for several links do not wait for it.
    var isLate = false

    func count(_ owner: OwnerID) -> Int { underWay.count { $0.owner == owner } }
    var isFull: Bool { count(kit) == kitWindow }
  }

  var steps = 0
  private var links: [LinkID: Link] = [:]
  private var events: [AddressedEvent<HostEvent>] = []
  private var lastLink: UInt32 = 0
  private var windows = WaitingUpdates()
  private var lastToken: UInt64 = 0
  /// The values of BLEKit that wait: the links that they are for, without those that may miss them.
  private var expected: [UpdateToken: Set<LinkID>] = [:]
  private let kitAttributes = [AttributeID(rawValue: 1), AttributeID(rawValue: 2)]
  private var role = PeripheralRole()
  private let characteristics: [CBMutableCharacteristic]
  private var managerAttributes: [AttributeID] = []
  /// What the application has been refused: it waits for the call that says that there is room.
  private var refused: [(characteristic: Int, only: LinkID?)] = []

  init() {
    characteristics = ["2A37", "2A38"].map {
      CBMutableCharacteristic(
        type: CBUUID(string: $0), properties: [.notify, .indicate], value: nil, permissions: [.readable])
    }
    let service = CBMutableService(type: CBUUID(string: "180D"), primary: true)
    service.characteristics = characteristics
    var effects = PeripheralEffects()
    role.add(service, into: &effects)
    managerAttributes = characteristics.compactMap { role.attributeIDs[ObjectIdentifier($0)] }
    require(managerAttributes.count == characteristics.count, "the service is not published")
  }

  private var attributes: [AttributeID] { kitAttributes + managerAttributes }
  private var peers: [LinkID] { links.keys.sorted { $0.rawValue < $1.rawValue } }

  mutating func step(_ input: inout FuzzInput) {
    steps += 1
    let choice = input.octet()
    let peer = peers.isEmpty ? nil : input.element(of: peers)
    switch (choice % 12, peer) {
    case (0, _), (_, nil): connect()
    case (1, let peer?): if input.octet() & 3 == 0 { disconnect(peer) }
    case (2, let peer?), (3, let peer?): subscribe(peer, input.element(of: attributes), input.octet())
    case (4, let peer?): for _ in 0...input.index(64) { send(kitAttributes[Int(choice / 12) & 1], to: [peer]) }
    case (5, _):
      let attribute = input.element(of: kitAttributes)
      for _ in 0...input.index(64) { send(attribute, to: peers.filter { links[$0]?.subscriptions[attribute] != nil }) }
    case (6, let peer?): for _ in 0...input.index(64) { update(Int(choice / 12) & 1, only: peer) }
    case (7, _):
      let characteristic = input.index(2)
      for _ in 0...input.index(64) { update(characteristic, only: nil) }
    case (8, let peer?): leave(1 + input.index(8), on: peer)
    case (9, let peer?): confirm(input.element(of: attributes), on: peer)
    case (10, let peer?):
      if choice & 0x80 != 0 { return take(peer) }
      role(.link(peer, .mtu(23 + input.index(250))))
    default:
      let waiting = expected.keys.sorted { $0.rawValue < $1.rawValue }
      guard !waiting.isEmpty else { break }
      cancel(input.element(of: waiting))
    }
    check()
  }

  // MARK: Links

  private mutating func connect() {
    guard links.count < Self.linkLimit else { return }
    lastLink += 1
    let peer = LinkID(rawValue: lastLink)
    links[peer] = Link()
    let address = DeviceAddress(octets: BD_ADDR(0xC000_0000_0000 + UInt64(lastLink % 7)), kind: .random)
    let timing = LinkTiming(interval: 24, latency: 0, supervisionTimeout: 500)
    role(.connected(ConnectedLink(peer: peer, address: address, role: .peripheral, timing: timing)))
  }

  /// As the server of a link reports its end.
  private mutating func disconnect(_ peer: LinkID) {
    guard let link = links[peer] else { return }
    for attribute in managerAttributes where link.subscriptions[attribute] != nil {
      role(.server(peer, .subscription(attribute, [])))
    }
    links[peer]?.subscriptions = [:]
    links[peer]?.updates = LinkUpdates(limit: 0)
    for update in link.updates.entries { events.append(.init(update.finished(on: peer), to: update.owner.recipient)) }
    receive()
    // BLEKit learns of the end afterwards; what it has sent meanwhile has ended with the link.
    require(links[peer]?.underWay.isEmpty == true, "values on the way when a link ended have no end")
    let (lost, commands) = windows.remove(peer)
    for token in links[peer]?.waiting ?? [] {
      expected[token]?.remove(peer)
      let others = links.contains { $0.key != peer && $0.value.waiting.contains(token) }
      require(lost.contains(token) == !others, "a value of a link that has ended is lost for others, or is not")
      if !others { expected[token] = nil }
    }
    links[peer] = nil
    role(.link(peer, .disconnected(.remoteUserTerminatedConnection)))
    refused.removeAll { $0.only == peer }
    perform(commands)
    receive()
  }

  private mutating func subscribe(_ peer: LinkID, _ attribute: AttributeID, _ choice: UInt8) {
    let subscription: Subscription = choice % 3 == 0 ? [] : choice % 3 == 1 ? .notify : .indicate
    links[peer]?.subscriptions[attribute] = subscription.isEmpty ? nil : subscription
    if managerAttributes.contains(attribute) { role(.server(peer, .subscription(attribute, subscription))) }
  }

  // MARK: What leaves

  /// The controller has sent notifications.
  private mutating func leave(_ count: Int, on peer: LinkID) {
    let count = min(count, links[peer]?.notifications ?? 0)
    links[peer]?.notifications -= count
    links[peer]?.updates.notificationsSent(count, on: peer, into: &events)
    receive()
  }

  private mutating func confirm(_ attribute: AttributeID, on peer: LinkID) {
    guard let index = links[peer]?.indications.firstIndex(of: attribute) else { return }
    links[peer]?.indications.remove(at: index)
    guard let update = links[peer]?.updates.indicationEnded(of: attribute) else {
      return require(false, "an indication is unknown")
    }
    events.append(.init(update.finished(on: peer), to: update.owner.recipient))
    receive()
  }

  /// Everything that is on its way to a link leaves now, and not what is sent then.
  private mutating func take(_ peer: LinkID) {
    let indications = links[peer]?.indications ?? []
    leave(.max, on: peer)
    for attribute in indications { confirm(attribute, on: peer) }
  }

  /// Hands the events to the APIs.
  private mutating func receive() {
    var next = 0
    while next < events.count {
      let addressed = events[next]
      next += 1
      switch addressed.event {
      case .server(let peer, .updateFinished(let token)): finished(token, 1, of: addressed.recipient, on: peer)
      case .server(let peer, .updatesFinished(let count)): finished(.counted, count, of: addressed.recipient, on: peer)
      default: require(false, "another event")
      }
    }
    events = []
  }

  private mutating func finished(_ token: UpdateToken, _ count: Int, of recipient: Recipient, on peer: LinkID) {
    let owner = recipient == Self.kit.recipient ? Self.kit : Self.manager
    for _ in 0..<count {
      let index = links[peer]?.underWay.firstIndex { $0.owner == owner && $0.token == token }
      guard let index else { return require(false, "the end of a value is reported twice") }
      links[peer]?.underWay.remove(at: index)
      links[peer]?.taken += 1
    }
    if owner == Self.manager {
      if role.updatesFinished(count, for: peer) { refused = [] }
    } else {
      links[peer]?.isLate = false
      perform(windows.finished(on: peer))
    }
  }

  // MARK: BLEKit

  private mutating func send(_ attribute: AttributeID, to peers: [LinkID]) {
    guard !peers.isEmpty else { return }
    lastToken += 1
    let token = UpdateToken(rawValue: lastToken)
    let behindLimit = peers.filter { links[$0]?.waiting.count ?? 0 >= WaitingUpdates.limit }
    let mayMiss = peers.filter { links[$0]?.isFull == true } + behindLimit
    expected[token] = Set(peers).subtracting(peers.count > 1 ? mayMiss : [])
    do {
      let commands = try windows.append(.init(attribute: attribute, octets: []), token, to: peers)
      for peer in waiters(peers) { links[peer]?.waiting.append(token) }
      perform(commands)
    } catch {
      require(behindLimit.count == peers.count, "a value is refused though fewer than the limit wait: \(error)")
      expected[token] = nil
    }
    receive()
  }

  /// The links that a value waits for: those that are not late, or all, and of them those with room in their lines.
  private func waiters(_ peers: [LinkID]) -> [LinkID] {
    let takers = peers.filter { links[$0].map { $0.waiting.count < WaitingUpdates.limit } ?? false }
    let inTime = takers.filter { links[$0]?.isLate == false }
    return inTime.isEmpty ? takers : inTime
  }

  private mutating func cancel(_ token: UpdateToken) {
    expected[token] = nil
    for peer in links.keys { links[peer]?.waiting.removeAll { $0 == token } }
    perform(windows.cancel(token))
    receive()
  }

  private mutating func perform(_ commands: [HostCommand]) {
    for command in commands {
      guard case .update(let token, let attribute, _, let peers) = command else {
        return require(false, "another command")
      }
      guard let expected = expected.removeValue(forKey: token) else {
        return require(false, "a value is sent twice, or after it was cancelled")
      }
      for peer in expected.subtracting(peers) {
        require(links[peer]?.isFull != false, "a link that has room misses a value")
      }
      require(!peers.isEmpty, "a value is sent to nobody")
      for (peer, link) in links where link.waiting.contains(token) {
        links[peer]?.waiting.removeAll { $0 == token }
        if link.isFull { links[peer]?.isLate = true }
      }
      for peer in peers {
        require(links[peer].map { $0.newest.rawValue < token.rawValue } ?? false, "values are sent out of order")
        links[peer]?.newest = token
        require(links[peer]?.isFull == false, "the window of a link is exceeded")
        begin(.init(owner: Self.kit, token: token), of: attribute, on: peer)
      }
    }
  }

  // MARK: CoreBluetooth

  private func centrals(_ characteristic: Int) -> [LinkID] {
    peers.filter { links[$0]?.subscriptions[managerAttributes[characteristic]] != nil }
  }

  private mutating func update(_ characteristic: Int, only peer: LinkID?) {
    let central = peer.flatMap { role.links[$0]?.central }
    let targets = centrals(characteristic).filter { peer == nil || $0 == peer }
    let counts = targets.map { links[$0]?.count(Self.manager) ?? 0 }
    guard let target = role.target(characteristics[characteristic], of: central.map { [$0] }) else {
      refused.removeAll { $0 == (characteristic, peer) }
      return require(targets.isEmpty, "a value is taken and not sent")
    }
    require(Set(target.peers) == Set(targets), "a value goes to others than the subscribers")
    guard let sent = role.recipients(of: target.peers) else {
      require(!counts.contains(0), "an application waits although a central has taken all of its values")
      require(counts.contains(Self.managerWindow), "an application waits although each central has room")
      if !refused.contains(where: { $0 == (characteristic, peer) }) { refused.append((characteristic, peer)) }
      return
    }
    refused.removeAll { $0 == (characteristic, peer) }
    for (target, count) in zip(targets, counts) {
      require(sent.contains(target) == (count < Self.managerWindow), "a central with room misses a value, or has none")
    }
    require(!sent.isEmpty, "a value is lost")
    for peer in sent { begin(.init(owner: Self.manager, token: .counted), of: target.attribute, on: peer) }
    receive()
  }

  private mutating func role(_ event: HostEvent) {
    var effects = PeripheralEffects()
    role.receive(event, into: &effects)
    if effects.calls.contains(where: { if case .isReady = $0 { true } else { false } }) { refused = [] }
  }

  // MARK: The host

  private mutating func begin(_ update: LinkUpdates.Entry, of attribute: AttributeID, on peer: LinkID) {
    links[peer]?.underWay.append(update)
    switch links[peer]?.subscriptions[attribute] {
    case .notify?:
      require(links[peer]?.updates.beginNotification(update) == true, "the host has no room for a value of a window")
      links[peer]?.notifications += 1
    case .indicate?:
      require(links[peer]?.updates.hasRoom == true, "the host has no room for a value of a window")
      links[peer]?.updates.beginIndication(of: attribute, update)
      links[peer]?.indications.append(attribute)
    default: events.append(.init(update.finished(on: peer), to: update.owner.recipient))
    }
  }

  // MARK: What holds

  private mutating func check() {
    for (peer, link) in links {
      require(link.updates.count == link.underWay.count, "the host counts other values than are on their way")
      require(
        role.updateWindows.count(of: peer) == link.count(Self.manager), "a manager counts other values than the host")
      guard let first = link.waiting.first else { continue }
      require(link.count(Self.kit) > 0, "a link that has taken all of its values waits")
      let others = links.values.filter { $0.waiting.contains(first) }
      require(
        others.contains { $0.isFull || $0.waiting.first != first }, "a value waits although each link has room for it")
    }
    for (characteristic, only) in refused {
      let targets = centrals(characteristic).filter { only == nil || $0 == only }
      require(
        !targets.contains { links[$0]?.count(Self.manager) == 0 },
        "an application waits although a central has taken all of its values")
    }
    let full = links.values.filter { $0.isFull && $0.count(Self.manager) == Self.managerWindow && $0.taken == 0 }
    plantedFault(
      !full.isEmpty && links.values.contains { $0.taken > 150 && $0.underWay.isEmpty },
      "a link has taken 150 values beside one that takes none and is full in both APIs")
  }

  /// All links take everything: nothing is left, and nothing of links that have ended.
  mutating func finish() {
    for _ in 0..<10_000 where links.values.contains(where: { !$0.underWay.isEmpty }) { peers.forEach { take($0) } }
    check()
    require(refused.isEmpty, "an application waits although no value is on its way")
    require(expected.isEmpty, "values wait although none is on its way")
    for link in links.values {
      for child in Mirror(reflecting: link.updates).children {
        guard let kept = child.value as? [LinkUpdates.Entry] else { continue }
        require(kept.isEmpty, "the host keeps \(kept.count) values that have left")
      }
    }
    peers.forEach { disconnect($0) }
    require(role.awaitedRoom.isEmpty, "a manager waits for a link that has ended")
    requireEmpty(role.updateWindows, "windows")
    requireEmpty(windows, "windows", "windows")
    requireEmpty(windows, "waiting")
  }

  /// Requires that a table of links in a value is empty.
  private func requireEmpty(_ value: Any, _ path: String...) {
    var found: Any? = value
    for name in path + ["numbers"] {
      found = found.flatMap { value in Mirror(reflecting: value).children.first { $0.label == name }?.value }
    }
    let count = (found as? [UInt32])?.count
    require(count == 0, "\(count.map(String.init) ?? "unknown") links that have ended are kept")
  }
}
