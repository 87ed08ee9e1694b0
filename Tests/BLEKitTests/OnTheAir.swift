import BLEKit
import Synchronization
import Testing

/// Two adapters of this process on the simulated radio: one with services, one that connects to it.
struct OnTheAir: Sendable {
  let peripheral: Adapter
  let central: Adapter
  /// Of its own for each test: all tests share one radio.
  let service: BluetoothUUID
  /// None: only the watchdog of the run limits a wait.
  static let patience: Duration? = nil

  private static let number = Atomic<UInt32>(0)

  /// - Parameter centralPairing: that of the central, where it differs from that of the peripheral.
  init(
    maximumMTU: Int? = nil, pairing: PairingOptions = OnTheAir.inMemory, centralPairing: PairingOptions? = nil
  ) async throws {
    let number = Self.number.wrappingAdd(1, ordering: .relaxed).newValue
    service = BluetoothUUID(uuid128: UInt128(0xB1E_0000 + number) << 64 | 0xFEED)
    peripheral = try await Adapter.open(
      AdapterOptions(transport: "virtual:kit-p-\(number)", maximumMTU: maximumMTU, pairing: pairing),
      timeout: Self.patience)
    central = try await Adapter.open(
      AdapterOptions(transport: "virtual:kit-c-\(number)", pairing: centralPairing ?? pairing), timeout: Self.patience)
  }

  static var inMemory: PairingOptions {
    var options = PairingOptions()
    options.storage = .memory
    return options
  }

  /// Serves characteristics, connects to them, and withdraws everything at the end of `body`.
  func meet<Value: Sendable>(
    _ characteristics: LocalCharacteristic..., body: @Sendable @escaping (RemoteDevice) async throws -> Value
  ) async throws -> Value {
    let services = [LocalService(service, characteristics)]
    let server = Task { try await peripheral.serve(services, advertisingAs: "Kit") }
    defer { server.cancel() }
    let address = try await find()
    return try await central.withConnection(to: address, timeout: Self.patience, body)
  }

  /// The address of the device that advertises the service.
  func find() async throws -> DeviceAddress {
    for try await result in central.scan(ScanOptions(services: [service])) { return result.address }
    throw CancellationError()
  }
}

/// Waits until the task is cancelled, as a handler does that takes too long.
func untilCancelled() async throws { try await Notes<Void>().next() }

/// What handlers note, for tests that wait for it.
final class Notes<Element: Sendable>: Sendable {
  private let stream: AsyncStream<Element>
  private let continuation: AsyncStream<Element>.Continuation
  private let noted = Mutex<[Element]>([])

  init() { (stream, continuation) = AsyncStream.makeStream() }

  var all: [Element] { noted.withLock { $0 } }

  func note(_ element: Element) {
    noted.withLock { $0.append(element) }
    continuation.yield(element)
  }

  /// The next one that no call has returned.
  func next() async throws -> Element {
    for await element in stream { return element }
    throw CancellationError()
  }
}
