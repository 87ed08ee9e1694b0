import BluetoothLE

/// Bumble's `notify_subscribers`: one value for all clients that are subscribed, from one task.
func serveCounter(on adapter: Adapter, every pause: Duration) async throws {
  let counter = LocalService(
    "50DB505C-8AC4-4738-8448-3B1D9CC09CC5",
    [LocalCharacteristic("486F64C6-4B5F-4B3B-8AFF-EDE134A8446A").notify()])
  let publication = try await adapter.publish([counter])
  let counting = Task {
    var count: UInt32 = 0
    while true {
      try await publication.send(count, for: "486F64C6-4B5F-4B3B-8AFF-EDE134A8446A")
      count &+= 1
      try await Task.sleep(for: pause)
    }
  }
  defer { counting.cancel() }
  try await adapter.advertise(
    Advertisement(localName: "Counter", serviceUUIDs: ["50DB505C-8AC4-4738-8448-3B1D9CC09CC5"]))
}
