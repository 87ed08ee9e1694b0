import BluetoothLE
import Synchronization

/// A door sensor: only a device that has paired with the passkey of the sensor reads whether the door is open.
final class DoorSensor: Sendable {
  static let service: BluetoothUUID = "7D0A0001-9E47-4C5A-9B1B-3C1E6F2A8D10"
  static let state: BluetoothUUID = "7D0A0002-9E47-4C5A-9B1B-3C1E6F2A8D10"

  private let isOpen = Mutex(false)

  /// The adapter of a device that displays six digits and has no keys.
  static func adapterOptions() -> AdapterOptions {
    var options = AdapterOptions(deviceName: "Door")
    options.pairing.capability = .displayOnly
    return options
  }

  /// - Parameters:
  ///   - display: shows the digits of a pairing to the person who pairs.
  ///   - changes: the states of the door.
  func serve(
    on adapter: Adapter, display: @escaping @Sendable (String) -> Void, changes: AsyncStream<Bool>
  ) async throws {
    let requests = adapter.pairingRequests
    let questions = Task {
      for await request in requests {
        switch request.question {
        case .display(let passkey): display(passkey)
        default: request.reply.reject()
        }
      }
    }
    defer { questions.cancel() }
    let door = LocalService(
      Self.service,
      [
        LocalCharacteristic(Self.state)
          .readSynchronously(security: .authenticated) { _ in self.isOpen.withLock { $0 } }
          // The state at the time of the subscription; later ones are sent to all subscribers below.
          .notify(security: .authenticated) { try await $0.send(self.isOpen.withLock { $0 }) }
      ])
    let publication = try await adapter.publish([door])
    let notifications = Task {
      for await isOpen in changes {
        self.isOpen.withLock { $0 = isOpen }
        try await publication.send(isOpen, for: Self.state)
      }
    }
    defer { notifications.cancel() }
    try await adapter.advertise(Advertisement(localName: "Door", serviceUUIDs: [Self.service]))
  }
}
