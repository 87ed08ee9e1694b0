import CoreBluetooth
import PublishedBluetooth

/// The same with publishers.
@MainActor final class PublisherRun {
  private let central = CentralPublishers()
  private var subscriptions: Set<AnyCancellable> = []
  private var scan: AnyCancellable?

  func start() {
    scan = central.state.filter { $0 == .poweredOn }.first()
      .flatMap { [central] _ in central.scan(for: [Sensor.room]) }
      .first()
      .flatMap { [central] in central.connect($0) }
      .sink(receiveCompletion: fail) { [self] peripheral in use(peripheral) }
  }

  private func use(_ peripheral: PeripheralPublishers) {
    peripheral.characteristic(Sensor.label, in: Sensor.room).first()
      .flatMap { label in peripheral.write(Data("Office".utf8), to: label) }.first()
      .flatMap { label in peripheral.read(label) }.first()
      .map { String(decoding: $0, as: UTF8.self) }
      .sink(receiveCompletion: fail) { [self] text in
        print("label \(text)")
        watch(peripheral)
      }
      .store(in: &subscriptions)
  }

  private func watch(_ peripheral: PeripheralPublishers) {
    peripheral.characteristic(Sensor.temperature, in: Sensor.room).first()
      .flatMap { peripheral.notifications(of: $0) }.first()
      .map(Sensor.degrees)
      .sink(receiveCompletion: fail) { [self] degrees in
        print("temperature \(degrees)")
        disconnect(peripheral)
      }
      .store(in: &subscriptions)
  }

  private func disconnect(_ peripheral: PeripheralPublishers) {
    central.disconnect(peripheral.peripheral)
      .sink(receiveCompletion: fail) { _ in
        print("disconnected")
        exit(0)
      }
      .store(in: &subscriptions)
  }

  private nonisolated func fail(_ completion: Completion) {
    guard case .failure(let error) = completion else { return }
    print("failed: \(error)")
    exit(1)
  }
}
