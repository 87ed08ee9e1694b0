import BLEAdapter
import BLEHost
import BLEWire

@testable import BLEKit

/// A program over ``BLEKit/Adapter``. Its tasks begin in the calls that make them, so that the link knows at any time
/// what is to come: the answer to a request, the next step of a procedure, a value.
final class AdapterProgram: Program {
  let link: ScriptedLink
  private let adapter: Adapter
  private let publication = Shared<ServicePublication?>(nil)
  private let subscribers = Shared<[LinkID: [BluetoothUUID: Subscriber]]>([:])
  private let devices = Shared<[DeviceAddress: (device: RemoteDevice, service: RemoteService)]>([:])
  private let tally = Shared(Tally())
  /// The tasks that make one step after the other, each with its link once there is one.
  private let running = Shared<[Int: LinkID?]>([:])
  private let number = Shared(0)
  /// The honest device: the first one.
  private let first = Shared<DeviceAddress?>(nil)

  init(_ link: ScriptedLink) {
    self.link = link
    adapter = Adapter(client: AdapterClient(over: link.connection, log: { _ in }))
  }

  func settle() async { while !isSettled { await link.next() } }

  private var isSettled: Bool {
    if link.isAsked { return false }
    if let first = first.value, let (device, _) = devices.value[first] {
      if link.received(on: device.peer) > tally.value[.receive, first] { return false }
    }
    return running.value.values.allSatisfy { link.procedures(on: $0) > 0 }
  }

  /// Begins a task whose next step is to be waited for.
  private func follow(on peer: LinkID? = nil, _ body: @escaping @Sendable () async throws -> Void) {
    number.change { $0 += 1 }
    let number = number.value
    running.change { $0.updateValue(peer, forKey: number) }
    Task.immediate { [running, link] in
      try? await body()
      running.change { $0.removeValue(forKey: number) }
      link.notify()
    }
  }

  func publish() {
    let values = zip(ProgramService.values, ValueKind.allCases).map { uuid, kind in
      let keep: @Sendable (Subscriber) async throws -> Void = { [subscribers, link] subscriber in
        subscribers.change { $0[subscriber.device.peer, default: [:]][uuid] = subscriber }
        link.notify()
      }
      let characteristic = LocalCharacteristic(uuid)
      return kind == .notified ? characteristic.notify(keep) : characteristic.indicate(keep)
    }
    let stored = LocalCharacteristic(ProgramService.stored).read { _ in ProgramService.value }
      .write([UInt8].self) { _, _ in }
    follow { [adapter, publication] in
      let published = try await adapter.publish([LocalService(ProgramService.uuid, values + [stored])])
      publication.change { $0 = published }
    }
  }

  func isSubscribed(_ peer: LinkID) -> Bool { subscribers.value[peer]?.count == ProgramService.values.count }

  func send(_ kind: ValueKind, to peer: LinkID?) {
    let uuid = ProgramService.values[kind.rawValue]
    Task.immediate { [publication, subscribers] in
      if let peer {
        try? await subscribers.value[peer]?[uuid]?.send(ProgramService.value)
      } else {
        try? await publication.value?.send(ProgramService.value, for: uuid)
      }
    }
  }

  func connect(to address: DeviceAddress) {
    first.change { $0 = $0 ?? address }
    follow { [adapter, devices, tally, link] in
      let device = try await adapter.connect(to: address, timeout: nil)
      let service = try await device.service(ProgramService.uuid)
      guard let characteristic = service[ProgramService.values[0]] else { return }
      var values = try await device.values(of: characteristic).subscribed()
      devices.change { $0[address] = (device, service) }
      Task.immediate {
        while try await values.next() != nil {
          tally.change { $0.add(.receive, address) }
          link.notify()
        }
      }
    }
  }

  var isConnected: Set<DeviceAddress> { Set(devices.value.keys) }

  func begin(_ procedure: Procedure, with address: DeviceAddress) {
    guard procedure != .receive, let (device, service) = devices.value[address],
      let stored = service[ProgramService.stored]
    else { return }
    follow(on: device.peer) { [tally] in
      switch procedure {
      case .read: _ = try await device.read(stored)
      case .write: try await device.write(ProgramService.value, to: stored)
      case .readRSSI: _ = try await device.readRSSI()
      case .discover: _ = try await device.services()
      case .receive: break
      }
      tally.change { $0.add(procedure, address) }
    }
  }

  func count(of procedure: Procedure, with device: DeviceAddress) -> Int { tally.value[procedure, device] }

  func close() { adapter.close() }
}
