import BLEGATT
import BLEHost
import BLETesting
import BLEWire
import ModelFixtures
import TestSupport

@testable import CoreBluetoothTypes

/// One step of a run of the model.
enum ModelMove: Sendable, CustomStringConvertible {
  enum Action: Sendable {
    case connect, cancel, scan, stopScan, discoverServices, discoverCharacteristics, read, write(Int), command
    case notify(Bool)
    case readRSSI, readPHY
    case discoverDescriptors, readDescriptor, writeDescriptor, discoverIncluded, readEncrypted, burst(Int)
    case retrieve, retrieveConnected, registerForConnectionEvents, pair, openChannel
    case add(Int), remove, removeAll, start, stop, update, publish(encrypted: Bool), unpublish
    case setLatency(Int), readRSSIOfCentral, readPHYOfCentral, cancelCentral, requestSecurity, setDeviceName, removeBond
    case send(Int), closeChannel

    /// The call without its arguments.
    var name: String { String("\(self)".prefix { $0 != "(" }) }

    var isOfPeripheral: Bool {
      switch self {
      case .add, .remove, .removeAll, .start, .stop, .update, .publish, .unpublish, .setLatency, .readRSSIOfCentral,
        .readPHYOfCentral, .cancelCentral, .requestSecurity, .setDeviceName, .removeBond:
        true
      default: false
      }
    }

    var isOfChannel: Bool {
      switch self {
      case .send, .closeChannel: true
      default: false
      }
    }
  }

  /// A call of the program on a device.
  case call(Int, Action)
  /// A call that is made in the next call of a delegate of the device.
  case callInCall(Int, Action)
  case pass(milliseconds: Int)
  case cutLinks(Int)
  /// The device loses its controller and gets it back after this time.
  case powerCycle(Int, AdapterState, milliseconds: Int)
  /// The managers of a device are released with everything that they have given, and the next ones restore their state.
  case restart(Int)

  var description: String {
    switch self {
    case .call(let device, let action): "\(device): \(action)"
    case .callInCall(let device, let action): "\(device), in a call: \(action)"
    case .pass(let time): "\(time) ms"
    case .cutLinks(let device): "\(device): links are cut"
    case .powerCycle(let device, let state, let time): "\(device): \(state) for \(time) ms"
    case .restart(let device): "\(device): restarted"
    }
  }
}

/// The managers as a whole: random programs of calls on two devices, and what always holds.
///
/// Each call that promises an answer has one. What was asked of a peer takes effect there in the order of the calls.
/// Octets on a channel arrive in order, and all of them while it is open. Once the radio is quiet nothing is
/// disconnecting, and both ends agree about subscriptions and open channels.
struct ManagerModel {
  private let moves: [ModelMove]
  private let devices: [ModelDevice]
  private let radio: ModelRadio
  private(set) var calls: [String: Int] = [:]

  init(_ moves: [ModelMove], seed: UInt64, planted: Fault?) {
    self.moves = moves
    let radio = ModelRadio(seed: seed, seam: planted?.seam ?? ModelRadio.Seam())
    self.radio = radio
    // Managers have an identifier, under which their state is restored, only where they restart.
    let devices = (0...1).map { index in
      ModelDevice(
        index, radio, restores: moves.contains { if case .restart(index) = $0 { true } else { false } })
    }
    self.devices = devices
    radio.programs.taken = { devices[$0].finish($1) }
  }

  /// - Returns: what did not hold; nil if everything has.
  mutating func run() -> String? {
    defer {
      for device in devices {
        device.release()
        device.other = nil
      }
    }
    for index in 0...1 { devices[index].other = devices[1 - index] }
    radio.start()
    radio.run(for: .seconds(1))
    for move in moves {
      for index in 0...1 { devices[index].meet(radio.hosts[1 - index].ownAddress) }
      switch move {
      case .call(let device, let action):
        devices[device].perform(action)
        devices[device].finishAll()
      case .callInCall(let device, let action): devices[device].performInCall(action)
      case .pass(let time): radio.run(for: .milliseconds(time))
      case .cutLinks(let device): radio.cutLinks(of: device)
      case .powerCycle(let device, let state, let time):
        radio.setController(device, lost: state)
        radio.run(for: .milliseconds(time))
        if state < .poweredOff { devices[device].forgetPeer() }
        radio.setController(device, lost: nil)
        radio.run(for: .milliseconds(200))
      case .restart(let device):
        devices[device].restart()
        radio.settle()
      }
      for device in devices { device.readChannels() }
    }
    for device in devices { device.forgetInCalls() }
    // What is read gives credits for more.
    for _ in 0..<60 {
      radio.run(for: .seconds(1))
      for device in devices { device.readChannels() }
    }
    if let fault = disagreement() ?? channelFault() { return fault }
    for device in devices { device.perform(.cancel) }
    radio.run(for: .seconds(60))
    for device in devices { calls.merge(device.calls) { $0 + $1 } }
    return fault()
  }

  /// What the two ends say differently.
  private func disagreement() -> String? {
    for (index, device) in devices.enumerated() {
      guard let peer = device.peer else { continue }
      if peer.state == .disconnecting { return "\(index): disconnecting while the radio is quiet" }
      if peer.state == .connecting, devices[1 - index].peer?.state == .connected {
        return "\(index): connecting while the peer is connected to it"
      }
      guard peer.state == .connected else { continue }
      let theirs = devices[1 - index].published.filter {
        ($0.characteristics?[1] as? CBMutableCharacteristic)?.subscribedCentrals?.isEmpty == false
      }
      let ours = (peer.services ?? []).filter { $0.characteristics?.contains(where: \.isNotifying) == true }
      if ours.count != theirs.count {
        return "\(index): \(ours.count) subscriptions here, \(theirs.count) at the peer"
      }
    }
    return nil
  }

  private func channelFault() -> String? {
    let open = devices.map { $0.channels.count { !$0.hasEnded } }
    if open[0] != open[1] { return "open channels: \(open[0]) and \(open[1])" }
    for (index, device) in devices.enumerated() {
      let received = Set(devices[1 - index].channels.flatMap(\.received))
      for channel in device.channels where !channel.hasEnded {
        if let lost = channel.sent.first(where: { !received.contains($0) }) {
          return "\(index): \(lost) was written to a channel that is open, and is lost"
        }
      }
    }
    return nil
  }

  private func fault() -> String? {
    for (index, device) in devices.enumerated() {
      if let fault = device.faults.first { return "\(index): \(fault)" }
      if let (promise, count) = device.open.filter({ $0.value != 0 }).sorted(by: { $0.key.rawValue < $1.key.rawValue })
        .first
      {
        return "\(index): \(count) calls without an answer: \(promise.rawValue)"
      }
      if device.peer.map({ $0.state != .disconnected }) ?? false { return "\(index): not disconnected at the end" }
      var asked = device.asked[...]
      for effect in devices[1 - index].effects {
        guard let place = asked.firstIndex(of: effect) else {
          return
            "\(index): out of order: \(effect), of \(device.asked.suffix(12)) "
            + "as \(devices[1 - index].effects.suffix(12))"
        }
        asked = asked[(place + 1)...]
      }
    }
    return nil
  }
}

/// Random runs.
extension ManagerModel: RandomModel {
  init(_ moves: [ModelMove], seed: UInt64) { self.init(moves, seed: seed, planted: nil) }

  static func moves(seed: UInt64) -> [ModelMove] {
    var random = SplitMix64(seed: seed)
    // Most runs begin with what lets the others have an effect.
    var moves: [ModelMove] = []
    for device in 0...1 where random.next(4) > 0 {
      moves += [.call(device, .add(0)), .call(device, .start)]
    }
    if random.next(4) > 0 {
      let device = random.next(2)
      moves += [.call(device, .connect), .pass(milliseconds: 1000), .call(device, .discoverServices)]
      moves += [.pass(milliseconds: 1000), .call(device, .discoverCharacteristics), .pass(milliseconds: 1000)]
    }
    for _ in 0..<(5 + random.next(25)) {
      let device = random.next(2)
      switch random.next(20) {
      case 0...13: moves.append(.call(device, action(&random)))
      case 14, 15: moves.append(.callInCall(device, action(&random)))
      case 16, 17: moves.append(.pass(milliseconds: [1, 10, 50, 300, 2000][random.next(5)]))
      case 18: moves.append(.cutLinks(device))
      default:
        if random.next(3) == 0 {
          moves.append(.restart(device))
          continue
        }
        let state: AdapterState = [.poweredOff, .resetting, .unsupported][random.next(3)]
        moves.append(.powerCycle(device, state, milliseconds: [0, 20, 500][random.next(3)]))
      }
    }
    return moves
  }

  private static func action(_ random: inout SplitMix64) -> ModelMove.Action {
    switch random.next(46) {
    case 0, 1: .connect
    case 2: .cancel
    case 3: .scan
    case 4: .stopScan
    case 5: .discoverServices
    case 6: .discoverCharacteristics
    case 7: .read
    case 8, 9: .write([2, 20, 21, 300, 512][random.next(5)])
    case 10, 11, 12: .command
    case 13, 14: .notify(random.next(3) > 0)
    case 15: .readRSSI
    case 16: .readPHY
    case 17: .add(random.next(2))
    case 18: .remove
    case 19: random.next(3) == 0 ? .removeAll : .update
    case 20: .start
    case 21: .stop
    case 22: .publish(encrypted: random.next(4) == 0)
    case 23: .unpublish
    case 24: .discoverDescriptors
    case 25: .readDescriptor
    case 26: .writeDescriptor
    case 27: .discoverIncluded
    case 28: .readEncrypted
    case 29: .burst([5, 40, 300][random.next(3)])
    case 30: .retrieve
    case 31: .retrieveConnected
    case 32: .registerForConnectionEvents
    case 33: .pair
    case 34, 35: .openChannel
    case 36: .setLatency(random.next(3))
    case 37: .readRSSIOfCentral
    case 38: .readPHYOfCentral
    case 39: random.next(3) == 0 ? .cancelCentral : .setDeviceName
    case 40: random.next(2) == 0 ? .requestSecurity : .removeBond
    case 41, 42, 43: .send([1, 20, 400][random.next(3)])
    case 44: .closeChannel
    default: .publish(encrypted: false)
    }
  }

  /// Faults that the stack has had, planted between the managers and their hosts.
  enum Fault: CaseIterable, Sendable {
    /// The answer to a start of advertising that is withdrawn is lost.
    case losesWithdrawnStarts
    /// Writes without response overtake the other commands of a turn.
    case commandsOvertake
    /// A link that the device makes does not fulfil a request to connect to it.
    case losesLinksOfTheDevice

    var seam: ModelRadio.Seam {
      var seam = ModelRadio.Seam()
      switch self {
      case .losesWithdrawnStarts:
        seam.report = { events in
          events.filter { if case .advertising(_, .started(.failure(.cancelled))) = $0 { false } else { true } }
        }
      case .commandsOvertake:
        func isWrite(_ command: HostCommand) -> Bool {
          if case .link(_, .client(let operation)) = command, case .writeWithoutResponse = operation.kind {
            true
          } else {
            false
          }
        }
        seam.order = { commands in commands.filter(isWrite) + commands.filter { !isWrite($0) } }
      case .losesLinksOfTheDevice:
        seam.report = { events in
          events.map { event in
            guard case .connected(var link) = event, link.role == .peripheral else { return event }
            link.request = nil
            return .connected(link)
          }
        }
      }
      return seam
    }
  }
}
