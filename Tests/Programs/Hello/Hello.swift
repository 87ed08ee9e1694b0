// swift-format-ignore-file: NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

import CoreBluetooth

/// The hello demo of many introductions, on the main actor: it greets its subscribers, takes its service back for a
/// second while they are subscribed, and adds the same service again; with the argument `--until-line`, when a line
/// comes on standard input.
@MainActor final class Hello: NSObject, @preconcurrency CBPeripheralManagerDelegate {
  private var manager: CBPeripheralManager!
  private var timer: Timer?
  private let greeting = CBMutableCharacteristic(
    type: CBUUID(string: "0BADCAFE-0002-4C1E-9B0F-6D1E2F3A4B5C"), properties: [.notify, .read], value: nil,
    permissions: [.readable])
  private let service = CBMutableService(type: CBUUID(string: "0BADCAFE-0001-4C1E-9B0F-6D1E2F3A4B5C"), primary: true)
  private var greetings = 0
  private var wasRemoved = false

  func start() {
    manager = CBPeripheralManager(delegate: self, queue: .main)
    timer = Timer.scheduledTimer(withTimeInterval: 0.1, repeats: true) { [weak self] _ in
      MainActor.assumeIsolated { self?.greet() }
    }
  }

  private func greet() {
    guard let subscribers = greeting.subscribedCentrals, !subscribers.isEmpty else { return }
    greetings += 1
    let text = "Hello \(greetings)"
    manager.updateValue(text.data(using: .utf8)!, for: greeting, onSubscribedCentrals: nil)
    guard greetings == 3, !wasRemoved else { return }
    wasRemoved = true
    NSLog("remove, %d subscribed", subscribers.count)
    manager.remove(service)
    Task { @MainActor in
      if CommandLine.arguments.contains("--until-line") {
        await Self.line()
      } else {
        try await Task.sleep(nanoseconds: NSEC_PER_SEC)
      }
      NSLog("add again, %d subscribed", greeting.subscribedCentrals?.count ?? 0)
      manager.add(service)
    }
  }

  private static func line() async {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        // `readLine` would hold the lock of `stdin`, for which the end of a program waits with the C library 2.43.
        var octet: UInt8 = 0
        while read(0, &octet, 1) == 1, octet != UInt8(ascii: "\n") {}
        continuation.resume()
      }
    }
  }

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    NSLog("peripheralManagerDidUpdateState %d", peripheral.state.rawValue)
    guard peripheral.state == .poweredOn else { return }
    service.characteristics = [greeting]
    peripheral.add(service)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
    NSLog("didAdd, the same service: %d", service === self.service ? 1 : 0)
    guard error == nil, !peripheral.isAdvertising else { return }
    peripheral.startAdvertising([
      CBAdvertisementDataLocalNameKey: "Hello", CBAdvertisementDataServiceUUIDsKey: [service.uuid],
    ])
  }

  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
    NSLog(
      "peripheralManagerDidStartAdvertising %d %@", peripheral.isAdvertising ? 1 : 0, error?.localizedDescription ?? "")
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) {
    NSLog("didSubscribeTo, %d subscribed", greeting.subscribedCentrals?.count ?? 0)
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
  ) {
    NSLog("didUnsubscribeFrom, %d subscribed", greeting.subscribedCentrals?.count ?? 0)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    request.value = Data("Hello".utf8)
    peripheral.respond(to: request, withResult: .success)
  }
}
