import BLEAdapter
import BLEHost
public import BLEKit
import BLELinux
public import BLEVirtual
public import BLEWire
import Synchronization

/// A device on a ``TestRadio``: a controller and a whole host, which the programs of a test share.
public final class TestDevice: Sendable {
  /// The name that the test has given it.
  public let name: String
  /// Its identity address.
  public let address: DeviceAddress
  let radio: TestRadio
  let index: Int
  private let opened = Mutex<Adapter?>(nil)
  /// The number of the activity that ``expect(_:within:)`` looks at next.
  let expected = Mutex(0)

  init(_ name: String, _ index: Int, _ address: DeviceAddress, on radio: TestRadio) {
    (self.name, self.index, self.address, self.radio) = (name, index, address, radio)
  }

  /// The adapter of the device, powered on; each call gives the same one.
  ///
  /// - Throws: ``BLEError/Kind/adapterUnavailable`` if the device is switched off.
  public func adapter() async throws -> Adapter {
    let adapter: Adapter
    if let known = opened.withLock({ $0 }) {
      adapter = known
    } else {
      let made = try await newAdapter()
      adapter = opened.withLock { opened in
        opened = opened ?? made
        return opened ?? made
      }
    }
    try await adapter.waitUntilPoweredOn(timeout: .seconds(10))
    return adapter
  }

  /// Another adapter of the device, as a second program of the process opens it. It may not be powered on yet.
  public func newAdapter() async throws -> Adapter {
    let client = try await addClient()
    let (clock, executor) = (radio.clock.clock, radio.tasks)
    let limits = WaitClock(
      executor: executor, sleep: { try await clock.sleep(for: $0) }, now: { clock.now - .start })
    let adapter = Adapter(client: AdapterClient(over: client.link, later: later), clock: limits)
    try await attach(client)
    return adapter
  }

  /// Ends all links of the device, as if it was out of range for a moment: each end notices it by its supervision
  /// timeout.
  public func loseLinks() async throws { try await perform { $0.cutLinks(of: $1) } }

  /// Takes the device out of range: its links end by their supervision timeout, and nobody receives it until
  /// ``moveIntoRange()``.
  public func moveOutOfRange() async throws { try await perform { $0.setInRange($1, false) } }

  /// Brings the device into range again.
  public func moveIntoRange() async throws { try await perform { $0.setInRange($1, true) } }

  /// Changes the power at which the device sends on its links. Peers receive them with another RSSI, and their
  /// controllers are informed if they have requested the power (Vol 6, Part B, 5.1.18).
  ///
  /// - Parameter level: in dBm, limited to the powers of the controller: -20 to 20, or its configured one if that is
  ///   outside.
  public func setTransmitPower(_ level: Int) async throws {
    let level = Int8(clamping: level)
    try await perform { $0.setTransmitPower(level, of: $1) }
  }

  /// Changes how much of the signal is lost between this device and another one, in both directions. Its links are
  /// received with the transmit power less this loss.
  ///
  /// ```swift
  /// try await phone.setPathLoss(85, to: sensor)
  /// ```
  ///
  /// - Parameters:
  ///   - loss: in dB, 0 to 254; nil for that of the controllers: `txPower` less `rssi` of the sender.
  ///   - other: a device of the same radio.
  public func setPathLoss(_ loss: Int?, to other: TestDevice) async throws {
    let loss = loss.map { min(UInt8(clamping: $0), 254) }
    try await perform { [index = other.index] in $0.setPathLoss(loss, between: $1, and: index) }
  }

  /// Takes the controller from the host, as when an adapter is unplugged or the device loses its power: its programs
  /// see that the adapter is off, and peers lose their links by the supervision timeout.
  public func powerOff() async throws {
    try await perform { $0.setPower($1, isOn: false) }
  }

  /// Gives the controller back. Links, advertisements and scans of before are gone; programs hear that the adapter is
  /// powered on.
  public func powerOn() async throws {
    try await perform { $0.setPower($1, isOn: true) }
  }

  /// Forgets every bond, as a device that was reset does. The other devices keep theirs.
  public func forgetBonds() async throws { try await perform { $0.removeBonds(of: $1) } }

  /// Replaces the faults of the controller: packets that are lost, delayed, repeated or changed, commands without an
  /// answer, links that end after a number of packets (``VirtualFault``).
  public func setFaults(_ faults: [VirtualFault]) async throws { try await perform { $0.setFaults(faults, of: $1) } }

  /// Whether the controller scans.
  public func isScanning() async throws -> Bool {
    let index = index
    return try await radio.perform { $0.isScanning(index) }
  }

  // MARK: Inside

  var later: ChannelStream.Timer {
    let (clock, executor) = (radio.clock.clock, radio.tasks)
    return { time, body in
      Task(executorPreference: executor) {
        try? await clock.sleep(for: time)
        body()
      }
    }
  }

  func addClient() async throws -> SimulatedClient {
    let index = index
    return try await radio.perform { $0.addClient(to: index) }
  }

  func attach(_ client: SimulatedClient) async throws { try await perform { $0.attach(client, to: $1) } }

  func setManager(_ wait: @escaping @Sendable () -> Void, of client: SimulatedClient) async throws {
    try await perform { simulation, _ in simulation.waits[client.owner] = wait }
  }

  private func perform(_ action: @escaping @Sendable (HostSimulation, Int) -> Void) async throws {
    let index = index
    try await radio.perform { action($0, index) }
  }
}
