import AdapterFixtures
import BLEHost
import BluetoothLE
import Synchronization

@testable import CoreBluetoothTypes

/// One manager on a queue of its own over a scripted host, with delegates that write their calls down.
protocol ManagerFixture: Sendable {
  associatedtype Manager: CBManager
  associatedtype Calls: CallRecorder

  var host: ScriptedHost { get }
  var recorder: Calls { get }
  var held: HeldManager<Manager> { get }
}

/// The calls of delegates, in words.
protocol CallRecorder {
  /// The calls since the last time.
  func take() -> [String]
}

/// A manager, until the test releases it.
final class HeldManager<Manager: CBManager>: Sendable {
  private let object: Mutex<Manager?>
  let work: ManagerWork

  init(_ manager: Manager, over link: ScriptedConnection) {
    object = Mutex(manager)
    work = ManagerWork(manager, over: link)
  }

  var manager: Manager {
    guard let manager = object.withLock({ $0 }) else { preconditionFailure("the test has released its manager") }
    return manager
  }

  func release() { object.withLock { $0 = nil } }
}

extension ManagerFixture {
  var manager: Manager { held.manager }

  func releaseManager() { held.release() }

  /// Reports the state of the adapter, and forgets the calls that it causes.
  func begin(_ state: AdapterState) {
    guard state != .unknown else { return }
    host.say(.state(state, nil))
    settle()
    _ = recorder.take()
  }

  /// Waits until the manager has taken every event of the host, and has made every call to its delegate.
  func settle() { held.work.finish() }

  /// The calls of the delegates since the last call, in words.
  func takeCalls() -> [String] {
    settle()
    return recorder.take()
  }

  /// What went into the log since the last call.
  func logged() -> [String] {
    settle()
    return host.log.take()
  }
}
