import AdapterFixtures
import BLEATT
import BLEAdapter
import BLEGAP
import BLEHost
import BLEWire
import ModelFixtures

@testable import BLEKit

/// What a device serves.
extension KitDevice {
  static let services: [BluetoothUUID] = ["FA00", "FB00"]
  static let value: BluetoothUUID = "FC01"
  static let notified: BluetoothUUID = "FC02"
  static let indicated: BluetoothUUID = "FC03"
  static let command: BluetoothUUID = "FC04"
  static let synchronous: BluetoothUUID = "FC05"
  static let requested: BluetoothUUID = "FC06"
  static let encrypted: BluetoothUUID = "FC07"
  static let constant: BluetoothUUID = "FC08"

  private func service(_ index: Int, including included: [LocalService] = []) -> LocalService {
    let characteristics = [
      LocalCharacteristic(Self.value, descriptors: [.userDescription("a value")])
        .read { [self] _ in try await readValue() }
        .write { [self] octets, _ in
          written(octets)
          try await handle()
        },
      LocalCharacteristic(Self.notified).notify(),
      LocalCharacteristic(Self.indicated).indicate { [self] subscriber in
        for number in 0..<3 as Range<UInt8> { try await subscriber.send([number]) }
        try await radio.clock.sleep(for: .seconds(3600))
      },
      LocalCharacteristic(Self.command).write(kinds: .withoutResponse) { [self] octets, _ in
        written(octets)
        // Nothing limits the time of a handler that no client waits for.
        if handling != .hangs { try await handle() }
      },
      LocalCharacteristic(Self.synchronous)
        .readSynchronously { _ in [7] as [UInt8] }
        .writeSynchronously { [self] octets, _ in writtenSynchronously(octets) },
      LocalCharacteristic(Self.requested).readable().writable(),
      LocalCharacteristic(Self.encrypted).read(security: .encrypted) { _ in [1] as [UInt8] },
      LocalCharacteristic(Self.constant).value([1, 2, 3] as [UInt8]),
    ]
    return LocalService(Self.services[index], characteristics, including: included)
  }

  private func services(_ argument: Int) -> [LocalService] {
    switch argument % 3 {
    case 0: [service(0)]
    case 1: [service(1, including: [LocalService("FD00", [LocalCharacteristic(Self.constant).value([4] as [UInt8])])])]
    default: [service(0), service(1)]
    }
  }

  func performAsPeripheral(_ action: KitAction, _ argument: Int, task: Int, _ adapter: Adapter) async {
    switch action {
    case .publish:
      guard publications.count < 3, self.adapter === adapter else { return }
      let publication = await call("publish") { try await adapter.publish(services(argument)) }
      guard let publication, self.adapter === adapter else { return }
      publications.append(publication)
      read(publication)
    case .removePublication:
      guard !publications.isEmpty else { return }
      withdrew()
      let publication = publications.remove(at: argument % publications.count)
      await call("ServicePublication.remove") { await publication.remove() }
    case .releasePublication:
      guard !publications.isEmpty else { return }
      withdrew()
      publications.remove(at: argument % publications.count)
    case .send:
      guard let publication = publications.last else { return }
      let mark = mark(task)
      await call("ServicePublication.send") { try await publication.send(mark.octets(8), for: Self.notified) }
    case .sendToSubscriber:
      guard let subscriber = subscribers.last else { return }
      let mark = mark(task)
      await call("Subscriber.send") { try await subscriber.send(mark.octets(argument % 3 == 0 ? 400 : 10)) }
    case .sendMany:
      guard let subscriber = subscribers.last else { return }
      let marks = (0..<(2 + argument % 40)).map { _ in mark(task).octets(subscriber.maximumLength) }
      await call("Subscriber.send(contentsOf:)") { try await subscriber.send(contentsOf: marks) }
    case .publishChannel:
      guard listeners.count < 2, self.adapter === adapter else { return }
      let publication = await call("publishChannel") {
        try await adapter.publishChannel(security: argument % 5 == 4 ? .encrypted : .none)
      }
      guard let publication, self.adapter === adapter else { return }
      listeners.append((publication, accept(publication)))
    case .removeChannelPublication:
      guard let (publication, _) = listeners.popLast() else { return }
      await call("ChannelPublication.remove") { await publication.remove() }
    case .releaseChannelPublication:
      // Its reader keeps it.
      if let (_, reader) = listeners.popLast() { end(reader) }
    case .setPairing:
      var options = PairingOptions()
      options.isBonding = argument % 3 > 0
      await call("setPairing") { adapter.setPairing(options) }
    case .removeBond:
      guard let bond = adapter.bonds.first else { return }
      await call("remove(bond)") { adapter.remove(bond) }
    case .forgetServicesOfBond:
      guard let bond = adapter.bond(of: peerAddress) else { return }
      await call("forgetServices(of:)") { adapter.forgetServices(of: bond) }
    default: break
    }
  }

  /// Reads the requests and the subscriptions of a publication, for as long as it exists.
  private func read(_ publication: ServicePublication) {
    let (requests, subscriptions) = (publication.requests, publication.subscriptions)
    start("requests") { [self] in
      for await request in requests {
        switch request.kind {
        case .read:
          do { try await handle() } catch { continue }
          request.respond(with: [9] as [UInt8])
        case .write(let octets):
          written(octets)
          do { try await handle() } catch { continue }
          request.accept()
        }
      }
    }
    start("subscriptions") { [self] in
      for await subscriber in subscriptions where subscriber.characteristic == Self.notified {
        subscribers.append(subscriber)
      }
    }
  }

  /// Takes the channels of a publication, for as long as it exists.
  private func accept(_ publication: ChannelPublication) -> Int {
    start("ChannelPublication.next") { [self] in
      for await channel in publication { add(channel) }
    }
  }

  /// Advertises, with services of its own or without.
  func advertise(_ adapter: Adapter, serves: Bool, _ argument: Int) {
    guard advertised.count < 3 else { return }
    let name = "m\(index)-\(mark(0).number)"
    let services = services(argument)
    start(serves ? "serve" : "advertise") { [self] in
      advertised.insert(name)
      defer { advertised.remove(name) }
      if serves {
        defer { withdrew() }
        try await adapter.serve(services, advertising: Advertisement(localName: name, serviceUUIDs: ["FA00"]))
      } else {
        try await adapter.advertise(Advertisement(localName: name, serviceUUIDs: ["FA00"]))
      }
    }
  }
}
