import AdapterFixtures
import BLEHost
import BLELinux
import BluetoothLE
import Synchronization
import Testing

@testable import BLERuntime
@testable import CoreBluetoothTypes

/// Managers over real hosts: the simulated radio, and transports that lead nowhere.
@Suite struct TransportTests {
  /// Hands states on to whoever waits for them.
  private final class Listener: NSObject, PeripheralManagerDelegate, Sendable {
    let states: AsyncStream<ManagerState>
    private let continuation: AsyncStream<ManagerState>.Continuation

    override init() { (states, continuation) = AsyncStream.makeStream(of: ManagerState.self) }

    func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) { continuation.yield(peripheral.state) }

    /// Waits for `state`.
    func wait(for state: ManagerState) async {
      for await seen in states where seen == state { return }
    }
  }

  @Test(arguments: [
    ("nonsense:1", 64, "nonsense"), ("unix-client:/nowhere/hci", 69, "/nowhere/hci"),
    ("serial:/nowhere/tty", 69, "/nowhere/tty"),
  ])
  func aTransportThatLeadsNowhereIsUnsupportedWithTheReason(transport: String, status: Int32, words: String)
    async throws
  {
    let listener = Listener()
    let queue = DispatchQueue(label: "delegate")
    queue.suspend()
    let manager = PeripheralManager(delegate: listener, queue: queue, adapter: AdapterOptions(transport: transport))
    #expect(manager.state == .unknown)
    queue.resume()
    await listener.wait(for: .unsupported)
    let reason = try #require(manager.stateReason as? AdapterError)
    #expect(reason.exitStatus == status, "\(reason)")
    #expect(reason.text.contains(words))
  }

  /// Nobody is to believe in a privacy that is not there.
  @Test func aPrivateAddressOnTheKernelsAdapterIsRefused() async throws {
    let listener = Listener()
    var options = AdapterOptions(transport: "linux")
    options.privacy.usesPrivateAddress = true
    let manager = PeripheralManager(delegate: listener, queue: DispatchQueue(label: "delegate"), adapter: options)
    await listener.wait(for: .unsupported)
    let reason = try #require(manager.stateReason as? AdapterError)
    #expect(reason.text.contains("hci-socket:N"))
  }

  @Test func theSimulatedRadioIsPoweredOn() async {
    let listener = Listener()
    let manager = PeripheralManager(
      delegate: listener, queue: DispatchQueue(label: "delegate"),
      options: [ManagerOptionTransportKey: "virtual:facade-powered-on", ManagerOptionDeviceNameKey: "Clock"])
    await listener.wait(for: .poweredOn)
    #expect(manager.stateReason == nil)
  }

  @Test func theHostEndsWithItsLastManager() async throws {
    let options = AdapterOptions(transport: "virtual:facade-last-manager")
    var managers: [PeripheralManager] = []
    for _ in 0..<2 {
      let listener = Listener()
      managers.append(PeripheralManager(delegate: listener, queue: DispatchQueue(label: "delegate"), adapter: options))
      await listener.wait(for: .poweredOn)
    }
    let mailbox = try options.host().mailbox
    managers.removeLast()
    #expect(!mailbox.isEnding)
    managers.removeLast()
    #expect(mailbox.waitUntilEnded(atMost: .seconds(1_000_000)))
  }

  @Test func aDelegateMayBelongToTheMainActor() async {
    await MainDelegate.run()
  }

  @MainActor private final class MainDelegate: NSObject, @MainActor PeripheralManagerDelegate {
    private var resume: (() -> Void)?

    func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) { resume?() }

    static func run() async {
      let host = ScriptedHost()
      host.say(.state(.poweredOn, nil))
      let delegate = MainDelegate()
      var manager: PeripheralManager?
      await withCheckedContinuation { continuation in
        delegate.resume = { continuation.resume() }
        manager = PeripheralManager(delegate: delegate, queue: nil, link: host.link(), log: { _ in })
      }
      #expect(manager?.state == .poweredOn)
    }
  }

  @Test func commandsWaitForTheTransportUpToALimit() {
    let connection = HostConnection(AdapterOptions(transport: "virtual:facade-waiting"))
    for _ in 0..<HostConnection.waitingLimit {
      connection.commands.post(.services(.setIdentity(name: "Clock", appearance: nil)))
    }
    #expect(connection.waitingCount == 64)
    connection.commands.post(.scanning(.stop))
    #expect(connection.waitingCount == 64)
  }

  @Test func optionsOfTheWrongTypeAreToldAndIgnored() {
    let lines = Lines()
    let options = AdapterOptions([ManagerOptionTransportKey: 5, ManagerOptionMaximumMTUKey: 100]) { lines.append($0) }
    #expect(options == AdapterOptions(maximumMTU: 100))
    #expect(lines.take() == ["the option BLEManagerOptionTransport takes a String, not Int, and is ignored"])
  }

  @Test func manyManagersOfOneHostLogItsLinesOnce() {
    let host = ScriptedHost()
    let lines = Lines()
    let queue = DispatchQueue(label: "delegate")
    let managers = (0..<2).map { _ in
      PeripheralManager(delegate: nil, queue: queue, link: host.link(), log: { lines.append($0.text) })
    }
    host.say(.diagnostic(Diagnostic(.peer, "sent garbage")))
    queue.sync {}
    #expect(lines.take().isEmpty && host.log.take() == ["peer: sent garbage"])
    withExtendedLifetime(managers) {}
  }
}
