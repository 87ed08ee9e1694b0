import BLEHost
import ModelFixtures
import TestSupport

/// A call that a task of a program makes, and waits for.
enum KitAction: String, CaseIterable, Sendable {
  case connect, connectByService, withConnection, disconnect, findDevice, waitUntilPoweredOn
  case services, characteristic, descriptors
  case read, readByUUID, readAtHandle, readRequested, readSynchronous, readConstant, readEncrypted
  case write, writeByUUID, writeAtHandle, writeRequested, writeSynchronous, command, commandAtHandle, burst
  case exchangeMTU, readRSSI, readPHY, setPreferredPHY, updateParameters, requestPriority
  case forgetServices, forgetServicesOfBond, pair, removeBond, setPairing
  case openChannel, writeToChannel, closeChannel, releaseChannel
  case publish, removePublication, releasePublication, send, sendToSubscriber, sendMany
  case publishChannel, removeChannelPublication, releaseChannelPublication

  /// Each as many times as it is likely.
  fileprivate static let weighted: [Self] =
    allCases + [connect, connect, read, write, write, command, command, burst, send, send, sendToSubscriber, sendMany]
    + [openChannel, writeToChannel, writeToChannel, writeToChannel, services, services, publish]
}

/// A call that lasts until its task is cancelled, or until what it reads ends.
enum KitLasting: String, CaseIterable, Sendable {
  case advertise, serve, scan, advertisements, values, indications, attributeValues, waitUntilDisconnected
  case states, advertisingChanges, connections, pairingRequests

  fileprivate static let weighted: [Self] = allCases + [advertise, serve, values, values, values, indications]
}

/// How handlers behave.
enum KitHandling: String, CaseIterable, Sendable {
  case prompt, slow, fails, hangs
}

/// One step of a run of the model.
enum KitMove: Sendable, CustomStringConvertible {
  /// A task of a device makes a call, after those that it has to make before.
  case call(Int, task: Int, KitAction, Int)
  /// The task is cancelled. The calls that it has not made yet are made in the cancelled task.
  case cancel(Int, task: Int)
  case begin(Int, KitLasting, Int)
  case end(Int, Int)
  case handle(Int, KitHandling)
  case pass(milliseconds: Int)
  case cutLinks(Int)
  /// The device loses its controller and gets it back after this time.
  case powerCycle(Int, AdapterState, milliseconds: Int)
  /// The adapter is closed, and another one is opened.
  case close(Int)
  /// Every task is cancelled, and every object released. Then another adapter is opened.
  case release(Int)

  var description: String {
    switch self {
    case .call(let device, let task, let action, let argument): "\(device).\(task): \(action) \(argument)"
    case .cancel(let device, let task): "\(device).\(task) is cancelled"
    case .begin(let device, let kind, let argument): "\(device) begins \(kind) \(argument)"
    case .end(let device, let which): "\(device) ends \(which)"
    case .handle(let device, let handling): "\(device): handlers: \(handling)"
    case .pass(let time): "\(time) ms"
    case .cutLinks(let device): "\(device): links are cut"
    case .powerCycle(let device, let state, let time): "\(device): \(state) for \(time) ms"
    case .close(let device): "\(device): closed"
    case .release(let device): "\(device): released"
    }
  }

  static let tasks = 3

  /// A random program.
  static func program(seed: UInt64) -> [KitMove] {
    var random = SplitMix64(seed: seed)
    // Most programs begin with what lets the others have an effect.
    var moves: [KitMove] = []
    for device in 0...1 where random.next(8) > 0 {
      moves.append(.call(device, task: 0, .publish, random.next(3)))
      moves.append(.begin(device, random.any(of: [.advertise, .serve]), random.next(3)))
      if random.next(4) > 0 { moves.append(.call(device, task: 1, .publishChannel, 0)) }
    }
    if random.next(8) > 0 {
      let device = random.next(2)
      moves += [.call(device, task: 0, .connect, 1), .pass(milliseconds: 1000), .call(device, task: 0, .services, 0)]
      moves += [.pass(milliseconds: 2000), .begin(device, .values, 0), .pass(milliseconds: 300)]
      if random.next(2) == 0 { moves += [.call(device, task: 1, .openChannel, 0), .pass(milliseconds: 300)] }
      if random.next(6) == 0 { moves += [.call(device, task: 2, .pair, 0), .pass(milliseconds: 1000)] }
    }
    for _ in 0..<(15 + random.next(45)) {
      let device = random.next(2)
      switch random.next(42) {
      case 0...22:
        let task = random.next(tasks)
        moves.append(.call(device, task: task, random.any(of: KitAction.weighted), random.next(1000)))
      case 23...25: moves.append(.cancel(device, task: random.next(tasks)))
      case 26...28: moves.append(.begin(device, random.any(of: KitLasting.weighted), random.next(1000)))
      case 29, 30, 40, 41: moves.append(.end(device, random.next(8)))
      case 31: moves.append(.handle(device, random.any(of: KitHandling.allCases)))
      case 32...36: moves.append(.pass(milliseconds: random.any(of: [1, 10, 30, 100, 500, 3000])))
      case 37: moves.append(.cutLinks(device))
      case 38:
        let state = random.any(of: [AdapterState.poweredOff, .resetting, .unsupported])
        moves.append(.powerCycle(device, state, milliseconds: random.any(of: [0, 20, 500])))
      default: moves.append(random.next(2) == 0 ? .close(device) : .release(device))
      }
    }
    return moves
  }
}
