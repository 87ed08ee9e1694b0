import BLEAdapter
import BLEHost
import BLEWire

@testable import BLEKit

/// What a device does with the other one, and calls that last.
extension KitDevice {
  private static let lengths = [3, 20, 64, 300, 512]

  func perform(_ action: KitAction, _ argument: Int, task: Int) async {
    guard let adapter else { return }
    switch action {
    case .connect:
      let timeout = [Duration.seconds(1), .seconds(5), .seconds(30)][argument % 3]
      let device = await call("connect") { try await adapter.connect(to: peerAddress, timeout: timeout) }
      if let device, self.adapter === adapter { devices.append(device) }
    case .connectByService:
      let device = await call("connect(.advertising)") {
        try await adapter.connect(to: .advertising(Self.services[0]), timeout: .seconds(5))
      }
      if let device, self.adapter === adapter { devices.append(device) }
    case .withConnection:
      await call("withConnection") {
        try await adapter.withConnection(to: peerAddress, timeout: .seconds(5)) { device in
          _ = try await device.read("2A00", in: "1800")
        }
      }
    case .findDevice:
      await call("findDevice") { try await adapter.findDevice(advertising: Self.services[0], timeout: .seconds(3)) }
    case .waitUntilPoweredOn:
      await call("waitUntilPoweredOn") { try await adapter.waitUntilPoweredOn(timeout: .seconds(3)) }
    case .publish, .removePublication, .releasePublication, .send, .sendToSubscriber, .sendMany, .publishChannel,
      .removeChannelPublication, .releaseChannelPublication, .setPairing, .removeBond, .forgetServicesOfBond:
      await performAsPeripheral(action, argument, task: task, adapter)
    case .writeToChannel, .closeChannel, .releaseChannel: await performOnChannel(action, argument, task: task)
    default: if let current { await perform(action, argument, task: task, on: current) }
    }
  }

  private func perform(_ action: KitAction, _ argument: Int, task: Int, on device: RemoteDevice) async {
    switch action {
    case .disconnect: await call("disconnect") { await device.disconnect() }
    case .services:
      let epoch = other?.epoch ?? 0
      guard let services = await call("services", { try await device.services() }) else { return }
      // Another task may have closed the adapter meanwhile.
      if device.session === adapter?.session { (found, foundOn, foundEpoch) = (services, device, epoch) }
    case .characteristic:
      await call("characteristic") { try await device.characteristic(Self.value, in: Self.services[argument % 2]) }
    case .exchangeMTU: await call("exchangeMTU") { try await device.exchangeMTU() }
    case .readRSSI: await call("readRSSI") { try await device.readRSSI() }
    case .readPHY: await call("readPHY") { try await device.readPHY() }
    case .setPreferredPHY:
      await call("setPreferredPHY") {
        try await device.setPreferredPHY(transmit: argument % 2 == 0 ? [.le2M] : [.le1M], receive: [])
      }
    case .updateParameters:
      await call("updateConnectionParameters") { try await device.updateConnectionParameters(timing(argument)) }
    case .requestPriority:
      let priority = ConnectionPriority.allCases[argument % ConnectionPriority.allCases.count]
      await call("requestConnectionPriority") { try device.requestConnectionPriority(priority) }
    case .forgetServices: await call("forgetServices") { try device.forgetServices() }
    case .pair: await call("pair") { try await device.pair(asksConsent: argument % 3 == 0) }
    case .openChannel:
      let psm = other?.listeners.last?.publication.psm ?? 0x00F0
      let channel = await call("openChannel") { try await device.openChannel(psm: psm) }
      if let channel, adapter?.session === device.session { add(channel) }
    case .readByUUID:
      await call("read(_:in:)") { try await device.read(Self.constant, in: Self.services[argument % 2]) }
    case .writeByUUID:
      let mark = mark(task)
      let isDone: Void? = await call("write(_:to:in:)") {
        try await device.write(mark.octets(4), to: Self.value, in: Self.services[argument % 2])
      }
      if isDone != nil { answered.append(mark) }
    default: await performOnAttribute(action, argument, task: task, of: device)
    }
  }

  private func timing(_ argument: Int) -> ConnectionParameterRequest {
    let interval = Duration.milliseconds([15, 30, 60][argument % 3])
    return ConnectionParameterRequest(interval: interval...interval)
  }

  private func performOnAttribute(
    _ action: KitAction, _ argument: Int, task: Int, of device: RemoteDevice
  ) async {
    switch action {
    case .descriptors:
      guard let value = found(Self.value) else { return }
      let descriptors = await call("descriptors") { try await device.descriptors(of: value) }
      guard let descriptor = descriptors?.first else { return }
      await call("read(descriptor)") { try await device.read(descriptor) }
    case .read:
      guard let value = found(Self.value) else { return }
      guard let octets = await call("read", { try await device.read(value) }) else { return }
      // A handle may be that of another service by now, which has a value of the same kind.
      if Set(octets).count > 1 { faults.append("a read returned parts of several values: \(octets)") }
    case .readAtHandle:
      guard let value = found(Self.constant) else { return }
      await call("read(handle)") { try await device.read(value.handle) }
    case .readRequested: await read("a request", Self.requested, of: device)
    case .readSynchronous: await read("a synchronous handler", Self.synchronous, of: device)
    case .readConstant: await read("a constant", Self.constant, of: device)
    case .readEncrypted: await read("an encrypted value", Self.encrypted, of: device)
    case .write: await write(Self.value, Self.lengths[argument % 5], task, to: device)
    case .writeRequested: await write(Self.requested, 10, task, to: device)
    case .writeSynchronous: await write(Self.synchronous, Self.lengths[argument % 5], task, to: device)
    case .writeAtHandle:
      guard let value = found(Self.value) else { return }
      let mark = mark(task)
      if await call("write(handle)", { try await device.write(mark.octets(5), to: value.handle) }) != nil {
        answered.append(mark)
      }
    case .command: await send(task, to: device)
    case .commandAtHandle:
      guard let value = found(Self.command) else { return }
      let (mark, epoch) = (mark(task), foundEpoch)
      let isSent: Void? = await call("writeWithoutResponse(handle)") {
        try await device.writeWithoutResponse(mark.octets(5), to: value.handle)
      }
      if isSent != nil { commands.append(Command(mark: mark, device: device, epoch: epoch)) }
    case .burst:
      for _ in 0..<(5 + argument % 20) { await send(task, to: device) }
      await write(Self.value, 3, task, to: device)
    default: break
    }
  }

  private func read(_ what: String, _ uuid: BluetoothUUID, of device: RemoteDevice) async {
    guard let value = found(uuid) else { return }
    await call("read of \(what)") { try await device.read(value) }
  }

  private func write(_ uuid: BluetoothUUID, _ length: Int, _ task: Int, to device: RemoteDevice) async {
    guard let value = found(uuid) else { return }
    let mark = mark(task)
    if await call("write", { try await device.write(mark.octets(length), to: value) }) != nil { answered.append(mark) }
  }

  private func send(_ task: Int, to device: RemoteDevice) async {
    guard let value = found(Self.command) else { return }
    let (mark, epoch) = (mark(task), foundEpoch)
    let isSent: Void? = await call("writeWithoutResponse") {
      try await device.writeWithoutResponse(mark.octets(12), to: value)
    }
    if isSent != nil { commands.append(Command(mark: mark, device: device, epoch: epoch)) }
  }

  // MARK: Channels

  func add(_ channel: LEChannel) {
    let entry = Channel(channel)
    channels.append(entry)
    entry.reader = start("LEChannel.next") {
      for try await octets in channel {
        if let mark = KitMark(octets), mark.number > 0 { entry.received.append(mark) }
      }
    }
  }

  private func performOnChannel(_ action: KitAction, _ argument: Int, task: Int) async {
    guard let entry = channels.last(where: { $0.channel.isOpen }) else { return }
    switch action {
    case .writeToChannel:
      let mark = mark(task)
      // The further SDUs of a long one have no mark.
      let length = [3, 100, 1000, 9000][argument % 4]
      if await call("LEChannel.write", { try await entry.channel.write(mark.octets(length)) }) != nil {
        entry.sent.append(mark)
      }
    case .closeChannel: await call("LEChannel.close") { await entry.channel.close() }
    default:
      channels.removeAll { $0 === entry }
      // Its reader keeps it.
      end(entry.reader)
    }
  }

  // MARK: Calls that last

  func begin(_ kind: KitLasting, _ argument: Int) {
    guard let adapter else { return }
    switch kind {
    case .advertise: advertise(adapter, serves: false, argument)
    case .serve: advertise(adapter, serves: true, argument)
    case .scan:
      start("scan") {
        var options = ScanOptions()
        (options.allowsDuplicates, options.waitsForScanResponse) = (argument % 2 == 0, argument % 3 == 0)
        for try await _ in adapter.scan(options) {}
      }
    case .advertisements: start("advertisements") { for try await _ in adapter.advertisements() {} }
    case .values: read(found(Self.notified), isNotified: true)
    case .indications: read(found(Self.indicated), isNotified: false)
    case .attributeValues:
      guard let current else { return }
      start("attributeValues") { for try await _ in try current.attributeValues() {} }
    case .waitUntilDisconnected:
      guard let current else { return }
      start("waitUntilDisconnected") { try await current.waitUntilDisconnected() }
    case .states: start("states") { for await _ in adapter.states {} }
    case .advertisingChanges: start("advertisingChanges") { for await _ in adapter.advertisingChanges {} }
    case .connections: readConnections(of: adapter)
    case .pairingRequests: readPairingRequests(of: adapter)
    }
  }

  /// Subscribes for as long as values come. Those of one task of the other device are in its order.
  private func read(_ characteristic: RemoteCharacteristic?, isNotified: Bool) {
    guard let current, let characteristic else { return }
    start("values") { [self] in
      var last: [Int: Int] = [:]
      for try await octets in current.values(of: characteristic) where isNotified {
        guard let mark = KitMark(octets) else { continue }
        if let before = last[mark.task], before >= mark.number {
          faults.append("value \(mark.number) of task \(mark.task) is received after \(before)")
        }
        last[mark.task] = mark.number
      }
    }
  }

  func readConnections(of adapter: Adapter) {
    let connections = adapter.connections
    start("connections") { [self] in
      for await device in connections where adapter === self.adapter { devices.append(device) }
    }
  }

  func readPairingRequests(of adapter: Adapter) {
    let requests = adapter.pairingRequests
    start("pairingRequests") {
      var count = 0
      for await request in requests {
        count += 1
        switch request.question {
        case .display: break
        case .enterPasskey: request.reply.enter(passkey: 123_456)
        case .consent, .replaceBond, .compare:
          if count % 4 == 0 { request.reply.reject() } else { request.reply.accept() }
        }
      }
    }
  }
}
