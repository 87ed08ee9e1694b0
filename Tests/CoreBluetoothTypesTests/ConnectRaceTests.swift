import AdapterFixtures
import BluetoothLE
import Synchronization
import Testing

/// Connections that are cancelled while they come up, over the simulated radio.
@Suite(.serialized, .usesRadio) struct ConnectRaceTests {
  /// Counts the calls of each round: connect, then cancel at any moment.
  final class Counter: NSObject, CentralManagerDelegate, Sendable {
    struct Round {
      var connected = 0
      var ended = 0
      var task: CheckedContinuation<Void, Never>?
    }
    private let state = Mutex<(round: Round, faults: [String])>((Round(), []))
    var faults: [String] { state.withLock { $0.faults } }

    /// Begins a round, and waits for its last call.
    func play(_ begin: () -> Void) async {
      await withCheckedContinuation { task in
        state.withLock { $0.round = Round(task: task) }
        begin()
      }
    }

    private func ended(_ fault: String?) {
      let task = state.withLock { state in
        state.round.ended += 1
        if let fault { state.faults.append(fault) }
        if state.round.ended > 1 { state.faults.append("\(state.round.ended) last calls") }
        return state.round.task.take()
      }
      task?.resume()
    }

    /// Without an adapter the round has no last call.
    func centralManagerDidUpdateState(_ central: CentralManager) {
      if central.state != .poweredOn { ended("the adapter is \(central.state)") }
    }
    func centralManager(_ central: CentralManager, didConnect peripheral: Peripheral) {
      state.withLock { state in
        state.round.connected += 1
        if state.round.connected > 1 { state.faults.append("connected twice") }
        if state.round.ended > 0 { state.faults.append("connected after the last call") }
      }
    }
    func centralManager(_ central: CentralManager, didFailToConnect peripheral: Peripheral, error: (any Error)?) {
      ended(error == nil ? "failed without an error" : nil)
    }
    func centralManager(
      _ central: CentralManager, didDisconnectPeripheral peripheral: Peripheral, error: (any Error)?
    ) { ended(error.map { "disconnected with \($0)" }) }
  }

  @Test func aThousandRacesOfConnectAndCancelHaveOneLastCall() async throws {
    let name = UUID().uuidString
    let service = MutableService(type: CBUUID(nsuuid: UUID()), primary: true)
    let server = RadioTests.Server()
    server.publish(service, at: "virtual:p-\(name)")
    await server.wait(for: "advertising")
    let central = AsyncCentral(AdapterOptions(transport: "virtual:c-\(name)"))
    let peripheral = try await central.find(service.uuid)
    let manager = central.manager
    let counter = Counter()
    manager.delegate = counter
    let canceller = DispatchQueue(label: "canceller")
    for round in 0..<1000 {
      // At once, and up to 2 ms later, when the link is up.
      let delay = round % 5 == 0 ? 0 : round * 7 % 2000
      await counter.play {
        manager.connect(peripheral)
        if delay == 0 { return manager.cancelPeripheralConnection(peripheral) }
        canceller.asyncAfter(deadline: .now() + .microseconds(delay)) {
          manager.cancelPeripheralConnection(peripheral)
        }
      }
      #expect(peripheral.state == .disconnected)
    }
    // Behind everything that the last round may have caused.
    manager.connect(peripheral)
    await counter.play { manager.cancelPeripheralConnection(peripheral) }
    #expect(counter.faults == [])
  }
}
