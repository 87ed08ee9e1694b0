import BLEProfiles
import Synchronization

/// The peripheral: it shows the digits of a pairing, takes credentials and joins the network.
final class ProvisionedDevice: Sendable {
  private let user: User
  private let state = Mutex(NetworkState.unconfigured)

  init(user: User) { self.user = user }

  func serve(on adapter: Adapter) async throws {
    let requests = adapter.pairingRequests
    let questions = Task {
      for await request in requests { answer(request) }
    }
    defer { questions.cancel() }
    let (joins, continuation) = AsyncStream.makeStream(
      of: NetworkCredentials.self, bufferingPolicy: .bufferingNewest(1))
    let service = LocalService(
      ProvisioningService.service,
      [
        LocalCharacteristic(ProvisioningService.network)
          .write(NetworkCredentials.self, security: .authenticated) { credentials, device in
            guard credentials.isUsable else { throw ProvisioningService.invalidCredentials }
            print("\(device) sets the network \"\(String(printable: credentials.name))\"")
            continuation.yield(credentials)
          },
        LocalCharacteristic(ProvisioningService.state)
          .readSynchronously(security: .authenticated) { _ in self.state.withLock { $0 } }
          .notify(security: .authenticated),
      ])
    let publication = try await adapter.publish([service])
    let joining = Task {
      for await _ in joins { try await join(publication) }
    }
    defer { joining.cancel() }
    print("advertises as \"Lamp\"")
    try await adapter.advertise(
      Advertisement(localName: "Lamp", serviceUUIDs: [ProvisioningService.service]))
  }

  /// A real device configures its network here, such as by NetworkManager.
  private func join(_ publication: ServicePublication) async throws {
    for next in [NetworkState.connecting, .connected] {
      state.withLock { $0 = next }
      print("state \(next)")
      try await publication.send(next, for: ProvisioningService.state.uuid)
      try await Task.sleep(for: .milliseconds(300))
    }
  }

  private func answer(_ request: PairingRequest) {
    switch request.question {
    case .display(let passkey): print("type \(passkey) on the other device")
    case .compare(let number):
      print("the other device shows \(number)")
      // Without a user at the device, who compares, the pairing protects against nobody. A real device waits for
      // its button.
      if user.confirms() { request.reply.accept() } else { request.reply.reject() }
    default: request.reply.reject()
    }
  }
}
