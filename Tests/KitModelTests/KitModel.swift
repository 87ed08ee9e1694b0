import AdapterFixtures
import BLEAdapter
import BLEHost
import BLEWire
import ModelFixtures
import Synchronization

@testable import BLEKit

/// The adapters of BLEKit as a whole: random programs of tasks on two devices, and what always holds.
///
/// Each call ends once the radio is quiet, with a value or an error. What one task writes takes effect at the other
/// device in the order of its calls: once if the call has returned without an error, otherwise at most once. Once the
/// radio is quiet both ends agree about links, subscriptions, channels and advertisements. A closed adapter ends its
/// calls at once, and one whose objects are released goes away.
struct KitModel {
  /// The longest time that a call may take: three tasks, each with a read or a write whose handler hangs for 29 s, then
  /// a pairing on demand. Measured from the call on.
  static let limit = Duration.seconds(150)

  private let moves: [KitMove]
  private let radio: ModelRadio
  private let executor = ManualExecutor()
  private let devices: [KitDevice]
  private(set) var calls: [String: Int] = [:]
  private(set) var outcomes: [String: Int] = [:]
  private(set) var slowest: (name: String, time: Duration) = ("", .zero)
  /// What has taken effect at each device.
  var effects: [[KitMark]] { devices.map(\.effects) }

  init(_ moves: [KitMove], seed: UInt64, planted: Fault?) {
    self.moves = moves
    let capabilities: [[PairingOptions.Capability]] = [
      [.none, .none], [.displayYesNo, .keyboardDisplay], [.keyboardOnly, .displayOnly],
    ]
    let pairing = capabilities[Int(seed % 3)].map { capability in
      var options = PairingOptions()
      (options.capability, options.asksConsent, options.bondReplacement) = (capability, seed % 4 == 0, .ask)
      return options
    }
    let radio = ModelRadio(
      seed: seed, seam: planted?.seam ?? ModelRadio.Seam(), pairing: pairing,
      maximumMTU: [517, 64, 23][Int(seed / 3 % 3)])
    self.radio = radio
    let executor = executor
    devices = (0...1).map { KitDevice($0, radio, executor) }
    radio.programs.goOn = { executor.drain() }
  }

  /// - Returns: what did not hold; nil if everything has.
  mutating func run() -> String? {
    defer { end() }
    for (index, device) in devices.enumerated() {
      device.other = devices[1 - index]
      device.openAdapter(isRunning: false)
    }
    radio.start()
    radio.run(for: .seconds(1))
    for move in moves {
      if let fault = make(move) { return fault }
    }
    for device in devices { device.handling = .prompt }
    var fault = becomeQuiet() ?? disagreement() ?? advertisingFault() ?? fault()
    for device in devices {
      calls.merge(device.calls) { $0 + $1 }
      outcomes.merge(device.outcomes) { $0 + $1 }
      if device.slowest.time > slowest.time { slowest = device.slowest }
    }
    for index in 0...1 where fault == nil { fault = releaseFault(index) }
    return fault
  }

  private func make(_ move: KitMove) -> String? {
    switch move {
    case .call(let device, let task, let action, let argument):
      devices[device].add(action, argument, task: task)
      executor.drain()
    case .cancel(let device, let task):
      devices[device].cancel(task: task)
      executor.drain()
    case .begin(let device, let kind, let argument):
      devices[device].begin(kind, argument)
      executor.drain()
    case .end(let device, let which):
      devices[device].endAny(which)
      executor.drain()
    case .handle(let device, let handling): devices[device].handling = handling
    case .pass(let time): radio.run(for: .milliseconds(time))
    case .cutLinks(let device): radio.cutLinks(of: device)
    case .powerCycle(let device, let state, let time):
      devices[device].withdrew()
      radio.setController(device, lost: state)
      radio.run(for: .milliseconds(time))
      radio.setController(device, lost: nil)
      radio.run(for: .milliseconds(200))
    case .close(let device):
      devices[device].close()
      radio.settle()
      if let call = devices[device].open.values.first {
        return "\(device): \(call.name) has not ended with the adapter"
      }
      devices[device].forget()
      devices[device].openAdapter(isRunning: true)
      radio.settle()
    case .release(let device):
      if let fault = releaseFault(device) { return fault }
      devices[device].openAdapter(isRunning: true)
      radio.settle()
    }
    return nil
  }

  /// Lets time pass until every call has ended that does not last, and everything that follows from it.
  private func becomeQuiet() -> String? {
    let end = radio.now + Self.limit
    while devices.contains(where: { $0.open.values.contains { !$0.isLasting } }) {
      guard radio.now < end else { break }
      radio.run(for: .seconds(1))
    }
    for device in devices {
      let late = device.open.values.filter { !$0.isLasting && radio.now - $0.since >= Self.limit }
      if let call = late.min(by: { $0.name < $1.name }) { return "\(device.index): \(call.name) does not end" }
    }
    radio.run(for: .seconds(30))
    return nil
  }

  /// What the two ends say differently.
  private func disagreement() -> String? {
    let links = devices.map { $0.adapter?.session.state.withLock { $0.links.keys.count } ?? 0 }
    let inHosts = radio.hosts.map(\.linkCount)
    if links[0] != links[1] { return "links: \(links), in the hosts \(inHosts)" }
    for (index, device) in devices.enumerated() {
      if links[index] != inHosts[index] { return "\(index): \(links[index]) links, \(inHosts[index]) in the host" }
      let peer = devices[1 - index]
      let ours = device.subscriptionCount { $0.values.count }
      let theirs = peer.subscriptionCount { $0.subscriptions.count }
      // A bond keeps the subscriptions of a link that has ended (Vol 3, Part G, 3.3.3.3).
      if peer.adapter?.bonds.isEmpty == false ? ours > theirs : ours != theirs {
        return "\(index): \(ours) subscriptions here, \(theirs) at the peer"
      }
    }
    let channels = devices.map { $0.channels.count { $0.channel.isOpen } }
    if channels[0] != channels[1] { return "open channels: \(channels[0]) and \(channels[1])" }
    return nil
  }

  /// Each device scans for what the other one advertises.
  private func advertisingFault() -> String? {
    var seen: [Set<String>] = [[], []]
    for (index, device) in devices.enumerated() {
      guard let adapter = device.adapter else { continue }
      let names = Names()
      let scan = device.start("scan") {
        for try await result in adapter.scan() { if let name = result.name { names.all.insert(name) } }
      }
      radio.run(for: .seconds(3))
      device.end(scan)
      radio.settle()
      seen[1 - index] = names.all
    }
    for (index, device) in devices.enumerated() where device.advertised != seen[index] {
      return "\(index): advertises \(device.advertised.sorted()), and \(seen[index].sorted()) is received"
    }
    return nil
  }

  private final class Names: @unchecked Sendable { var all: Set<String> = [] }

  private func fault() -> String? {
    for (index, device) in devices.enumerated() {
      if let fault = device.faults.first { return "\(index): \(fault)" }
      let peer = devices[1 - index]
      let all = peer.effects + peer.synchronousEffects
      var counts: [KitMark: Int] = [:]
      for mark in all { counts[mark, default: 0] += 1 }
      if let twice = counts.first(where: { $0.value > 1 }) { return "\(index): \(twice.key) took effect twice" }
      if let lost = device.answered.first(where: { counts[$0] == nil }) {
        return "\(index): \(lost) was answered and has no effect"
      }
      for command in device.commands where command.device.isConnected && command.epoch == peer.epoch {
        if counts[command.mark] == nil { return "\(index): \(command.mark) was sent on a link that is up, and is lost" }
      }
      if let fault = Self.disorder(peer.effects) { return "\(index): written: \(fault)" }
      for entry in device.channels {
        if let fault = Self.disorder(entry.received) { return "\(index): on a channel: \(fault)" }
      }
      let received = Set(peer.channels.flatMap(\.received))
      for entry in device.channels where entry.channel.isOpen {
        if let lost = entry.sent.first(where: { !received.contains($0) }) {
          return "\(index): \(lost) was written to a channel that is open, and is lost"
        }
      }
    }
    return nil
  }

  private static func disorder(_ marks: [KitMark]) -> String? {
    var last: [Int: Int] = [:]
    for mark in marks {
      if let before = last[mark.task], before > mark.number { return "\(mark) after \(before)" }
      last[mark.task] = mark.number
    }
    return nil
  }

  /// Releases a device's objects: its calls end, and its session with them.
  private func releaseFault(_ index: Int) -> String? {
    let device = devices[index]
    let exists = device.release()
    // A channel is closed, and a link ended, by tasks that are not cancelled.
    radio.run(for: .seconds(12))
    if let call = device.open.values.min(by: { $0.name < $1.name }) {
      return "\(index): \(call.name) has not ended after its task was cancelled"
    }
    if exists() { return "\(index): the session outlives its objects" }
    // A link that the other device has made stays while other users of the adapter may use it.
    let outlives = devices[1 - index].adapter?.session.state.withLock { state in
      state.links.keys.contains { state.links[$0]?.isCentral == true }
    }
    if outlives == true { return "\(index): a link outlives the adapter that has made it" }
    return nil
  }

  /// Ends whatever still sleeps.
  private func end() {
    for device in devices {
      _ = device.release()
      device.other = nil
    }
    radio.settle()
    radio.clock.advance(to: radio.now + .seconds(100_000))
    executor.drain()
    radio.programs = ModelRadio.Programs()
  }
}

/// Faults between the adapters and their hosts, which the model finds.
extension KitModel {
  enum Fault: CaseIterable, Sendable {
    /// A service is withdrawn without an answer.
    case losesRemovals
    /// Writes without response wait for the other requests of a turn.
    case delaysCommands
    /// A write is reported twice.
    case repeatsWrites
    /// The end of a subscription is not reported.
    case losesUnsubscriptions
    /// An advertisement is not stopped.
    case keepsAdvertising
    /// The end of a link is not reported.
    case losesDisconnections

    var seam: ModelRadio.Seam {
      var seam = ModelRadio.Seam()
      func isCommand(_ event: HostEvent) -> Bool { if case .server(_, .command) = event { true } else { false } }
      switch self {
      case .losesRemovals:
        seam.report = { $0.filter { if case .services(.removed) = $0 { false } else { true } } }
      case .delaysCommands:
        seam.report = { events in events.filter { !isCommand($0) } + events.filter(isCommand) }
      case .repeatsWrites:
        seam.report = {
          $0.flatMap { event in if case .server(_, .write) = event { [event, event] } else { [event] } }
        }
      case .losesUnsubscriptions:
        seam.report = { $0.filter { if case .server(_, .subscription(_, [])) = $0 { false } else { true } } }
      case .keepsAdvertising:
        seam.order = { $0.filter { if case .advertising(.stop) = $0 { false } else { true } } }
      case .losesDisconnections:
        seam.report = { $0.filter { if case .link(_, .disconnected) = $0 { false } else { true } } }
      }
      return seam
    }
  }
}

extension KitModel: RandomModel {
  static func moves(seed: UInt64) -> [KitMove] { KitMove.program(seed: seed) }
  init(_ moves: [KitMove], seed: UInt64) { self.init(moves, seed: seed, planted: nil) }
}
