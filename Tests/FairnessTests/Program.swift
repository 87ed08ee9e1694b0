import BLEHost
import BLEWire
import Synchronization

/// A program over one of the APIs.
protocol Program: Sendable {
  var link: ScriptedLink { get }
  /// Waits until the program has done what it can do without its host.
  func settle() async

  /// Publishes ``ProgramService``.
  func publish()
  /// Whether a client has subscribed to all values.
  func isSubscribed(_ peer: LinkID) -> Bool
  /// Sends a value to a client, or to everyone.
  func send(_ kind: ValueKind, to peer: LinkID?)

  /// Connects to a device, discovers it and subscribes to its values.
  func connect(to address: DeviceAddress)
  /// The devices that are connected, discovered and subscribed to.
  var isConnected: Set<DeviceAddress> { get }
  /// Begins a procedure. Those with the honest device come one at a time.
  func begin(_ procedure: Procedure, with device: DeviceAddress)
  /// The procedures with a device that have ended, and the values that it has sent.
  func count(of procedure: Procedure, with device: DeviceAddress) -> Int

  func close()
}

/// How a value is sent.
enum ValueKind: Int, CaseIterable, Sendable {
  case notified, indicated
}

/// What a program does with a device.
enum Procedure: CaseIterable, Sendable {
  case read, write, readRSSI
  /// A value that the device sends.
  case receive
  case discover
}

/// The service of every device here: a value that is notified, one that is indicated, and one that clients read and
/// write.
enum ProgramService {
  static let uuid = BluetoothUUID(0xFFF0)
  static let values = [BluetoothUUID(0xFFF1), BluetoothUUID(0xFFF2)]
  static let stored = BluetoothUUID(0xFFF3)
  static let value = [UInt8](repeating: 7, count: 20)
}

/// How often something has happened with a device.
struct Tally: Sendable {
  private var counts: [DeviceAddress: [Procedure: Int]] = [:]

  subscript(_ procedure: Procedure, _ device: DeviceAddress) -> Int { counts[device]?[procedure] ?? 0 }
  mutating func add(_ procedure: Procedure, _ device: DeviceAddress) {
    counts[device, default: [:]][procedure, default: 0] += 1
  }
}

/// A value that tasks change and the test reads.
final class Shared<Value: Sendable>: Sendable {
  private let content: Mutex<Value>
  init(_ value: Value) { content = Mutex(value) }
  var value: Value { content.withLock { $0 } }
  func change(_ change: (inout Value) -> Void) { content.withLock { change(&$0) } }
}
