import BLEATT
import BLEGATT
package import BLEKit
import BLETrace
import BLEWire
import Synchronization

/// The values of the characteristics of a description, by their place in it, and what their clients get.
///
/// A description with handles (``ServiceDescription/hasHandles``) is published by ``attributes()``, another one by
/// ``services()``. The rules of a copy of a device:
///
/// | a client | gets |
/// |---|---|
/// | reads | the next answer of ``ServiceDescription/Characteristic/reads``; the last one is repeated |
/// | subscribes | the values of the next list of ``ServiceDescription/Characteristic/subscriptions``, once |
/// | writes a value of ``ServiceDescription/Characteristic/writes`` | the recorded answer, and what followed it |
/// | writes another value | success; the value is read from then on, and nothing is sent |
package final class ServedValues: Sendable {
  /// The means of the program.
  package struct Environment: Sendable {
    package var clock = WaitClock()
    /// Gets what clients do, in plain words.
    package var report: @Sendable (String) -> Void = { _ in }
    /// Adds the value of a command (``ServiceDescription/Characteristic/command``); nil leaves such values empty.
    package var produce:
      (
        @Sendable (String, ServiceDescription.Characteristic, LocalCharacteristic) -> LocalCharacteristic
      )?

    package init() {}
  }

  /// The writes of one client that something still follows. What follows further ones is left out.
  static let followingLimit = 64

  private struct Place: Hashable { var service: Int, characteristic: Int }

  /// The answers to reads from now on.
  private struct Answers {
    var list: [ServiceDescription.ReadAnswer]
    var next = 0

    mutating func take() -> ServiceDescription.ReadAnswer? {
      guard next < list.count else { return list.last }
      defer { if next + 1 < list.count { next += 1 } }
      return list[next]
    }
  }

  /// A value that was written, and how often.
  private struct Written: Hashable { var place: Place, value: [UInt8] }

  private struct State {
    var answers: [Place: Answers] = [:]
    /// The recorded values alone are counted.
    var writes: [Written: Int] = [:]
    var subscriptions: [Place: Int] = [:]
    /// The clients, by the handles of the values.
    var subscribers: [RemoteDevice: [UInt16: Subscriber]] = [:]
    /// What follows writes that are about to be answered.
    var following: [RemoteDevice: [(updates: [ServiceDescription.Update], handle: UInt16, start: Duration)]] = [:]
    /// What is on its way to clients after their writes, by numbers.
    var sending: [RemoteDevice: [Int: Task<Void, Never>]] = [:]
    var lastNumber = 0
  }

  private let description: ServiceDescription
  private let environment: Environment
  private let state = Mutex(State())
  /// The places of the values, by their handles.
  private let places: [UInt16: Place]
  /// The description whose values were used last.
  private let latest: Mutex<ServiceDescription>
  private let publication = Mutex<ServicePublication?>(nil)

  package init(_ description: ServiceDescription, _ environment: Environment = Environment()) {
    self.description = description
    self.environment = environment
    latest = Mutex(description)
    var places: [UInt16: Place] = [:]
    for (index, service) in description.services.enumerated() {
      for (number, characteristic) in service.characteristics.enumerated() {
        guard let handle = characteristic.placeOfValue else { continue }
        places[handle] = Place(service: index, characteristic: number)
      }
    }
    self.places = places
  }

  /// Publishes the services, and keeps the publication: changes of values are sent to it.
  package func publish(on adapter: Adapter) async throws(BLEError) {
    let made =
      description.hasHandles ? try await adapter.publish(database: attributes()) : try await adapter.publish(services())
    publication.withLock { $0 = made }
  }

  /// The services of the description.
  package func services() -> [LocalService] {
    description.services.enumerated().map { index, service in
      let characteristics = service.characteristics.enumerated().map { number, characteristic in
        self.characteristic(characteristic, Place(service: index, characteristic: number))
      }
      return LocalService(service.uuid, characteristics, isPrimary: service.isPrimary)
    }
  }

  private func characteristic(
    _ description: ServiceDescription.Characteristic, _ place: Place
  ) -> LocalCharacteristic {
    let uuid = description.uuid
    let reads = description.reads.isEmpty ? [.value(description.value)] : description.reads
    state.withLock { $0.answers[place] = Answers(list: reads) }
    let security = description.security.required
    var result = LocalCharacteristic(uuid)
    if let text = description.description {
      result.descriptors.append(LocalDescriptor("2901", value: Array(text.utf8)))
    }
    if let command = description.command { return environment.produce?(command, description, result) ?? result }
    if description.properties.contains(.read) || description.handle != nil {
      result = result.read(security: security) { [weak self] _ in try self?.read(place) ?? [] }
    }
    var kinds: LocalCharacteristic.WriteKinds = []
    if description.properties.contains(.write) || description.handle != nil { kinds.insert(.withResponse) }
    if description.properties.contains(.writeWithoutResponse) { kinds.insert(.withoutResponse) }
    if !kinds.isEmpty {
      result = result.write(kinds: kinds, security: security) { [weak self] octets, device in
        try await self?.write(octets, to: place, description, by: device)
      }
      .written { [weak self] device in self?.written(by: device) }
    }
    let subscribed: @Sendable (Subscriber) async throws -> Void = { [weak self] subscriber in
      self?.environment.report("\(subscriber.device.address) subscribed to \(uuid.uuidString)")
      try await self?.serve(subscriber, at: place, description)
    }
    if description.properties.contains(.notify) { result = result.notify(security: security, subscribed) }
    if description.properties.contains(.indicate) { result = result.indicate(security: security, subscribed) }
    return result
  }

  // MARK: - Requests

  private func read(_ place: Place) throws(ATTErrorCode) -> [UInt8] {
    switch state.withLock({ $0.answers[place]?.take() }) {
    case .value(let octets): return octets
    case .error(let code): throw ATTErrorCode(rawValue: code)
    case nil: return []
    }
  }

  private func write(
    _ octets: [UInt8], to place: Place, _ characteristic: ServiceDescription.Characteristic, by device: RemoteDevice
  ) async throws {
    let start = environment.clock.now()
    let uuid = characteristic.uuid
    environment.report("\(device.address) wrote \(uuid.uuidString): \(ValueText.text(octets[...], of: uuid))")
    let recorded = characteristic.writes.filter { $0.value == octets }
    guard let last = recorded.last else {
      state.withLock { $0.answers[place] = Answers(list: [.value(octets)]) }
      let isSent = characteristic.properties.contains(.notify) || characteristic.properties.contains(.indicate)
      if isSent, characteristic.handle == nil {
        Task(executorPreference: environment.clock.executor) { try? await self.send(octets, of: uuid) }
      }
      return
    }
    let key = Written(place: place, value: octets)
    let write = state.withLock { state in
      let count = state.writes[key, default: 0]
      state.writes[key] = count + 1
      return count < recorded.count ? recorded[count] : last
    }
    let handle = characteristic.placeOfValue ?? 0
    state.withLock { state in
      if write.error == nil { state.answers[place] = Answers(list: [.value(octets)]) }
      for values in write.reads {
        if let place = places[values.handle] { state.answers[place] = Answers(list: values.values) }
      }
      let after = write.updates.filter { !$0.isBeforeAnswer }
      if !after.isEmpty { state.following[device, default: []].append((after, handle, start)) }
    }
    let before = write.updates.filter(\.isBeforeAnswer)
    if !before.isEmpty { try? await play(before, of: handle, from: start, to: device) }
    if write.delay > 0 { try await sleep(until: write.delay, from: start) }
    if let error = write.error { throw ATTErrorCode(rawValue: error) }
  }

  /// The answer to a write is on its way: what follows it begins.
  private func written(by device: RemoteDevice) {
    let following = state.withLock { $0.following.removeValue(forKey: device) ?? [] }
    for (updates, handle, start) in following {
      begin(for: device) { try? await self.play(updates, of: handle, from: start, to: device) }
    }
  }

  /// Does something for a client that takes time; it is cancelled when the link ends.
  private func begin(for device: RemoteDevice, _ work: @escaping @Sendable () async -> Void) {
    let isBegun = state.withLock { state in
      guard state.sending[device, default: [:]].count < Self.followingLimit else { return false }
      state.lastNumber += 1
      let number = state.lastNumber
      state.sending[device, default: [:]][number] = Task(executorPreference: environment.clock.executor) {
        await work()
        self.state.withLock { state in
          state.sending[device]?[number] = nil
          if state.sending[device]?.isEmpty == true { state.sending[device] = nil }
        }
      }
      return true
    }
    if !isBegun {
      environment.report("\(device.address) writes faster than values follow: those of this write are left out")
    }
  }

  /// Sends what follows a subscription, and keeps the subscriber until the subscription ends.
  private func serve(
    _ subscriber: Subscriber, at place: Place, _ characteristic: ServiceDescription.Characteristic
  ) async throws {
    guard let handle = characteristic.placeOfValue else { return }
    let start = environment.clock.now()
    let count = state.withLock { state in
      state.subscribers[subscriber.device, default: [:]][handle] = subscriber
      let count = state.subscriptions[place, default: 0]
      state.subscriptions[place] = count + 1
      return count
    }
    let lists = characteristic.subscriptions
    guard let last = lists.last else { return }
    try await play(count < lists.count ? lists[count] : last, of: handle, from: start, to: subscriber.device)
  }

  /// Sends values at their times.
  private func play(
    _ updates: [ServiceDescription.Update], of handle: UInt16, from start: Duration, to device: RemoteDevice
  ) async throws {
    for update in updates {
      try await sleep(until: update.delay, from: start)
      if update.disconnects { return await device.disconnect() }
      if update.requestsSecurity || update.connection != nil {
        // A central may refuse it, and what follows does not wait for its answer.
        begin(for: device) {
          if let request = update.connection?.request { _ = try? await device.updateConnectionParameters(request) }
          if update.requestsSecurity { try? await device.pair() }
        }
        continue
      }
      let subscriber = state.withLock { $0.subscribers[device]?[update.handle ?? handle] }
      try await subscriber?.send(update.value)
    }
  }

  private func sleep(until milliseconds: UInt32, from start: Duration) async throws {
    let rest = start + .milliseconds(milliseconds) - environment.clock.now()
    if rest > .zero { try await environment.clock.sleep(rest) }
  }

  /// Does what the device does on each link: it requests a timing and security. Returns when the link has ended.
  package func serve(_ device: RemoteDevice) async {
    defer {
      let sending = state.withLock { state in
        state.subscribers[device] = nil
        state.following[device] = nil
        return state.sending.removeValue(forKey: device) ?? [:]
      }
      for task in sending.values { task.cancel() }
    }
    let start = environment.clock.now()
    var steps: [(delay: UInt32, action: @Sendable () async throws -> Void)] = []
    if let request = description.connection?.request, let delay = description.connection?.delay {
      steps.append((delay, { _ = try await device.updateConnectionParameters(request) }))
    }
    if let delay = description.pairing?.requestDelay { steps.append((delay, { try await device.pair() })) }
    let requests = steps.map { step in
      Task(executorPreference: environment.clock.executor) {
        try await self.sleep(until: step.delay, from: start)
        // A central may refuse both; the link stays.
        try await step.action()
      }
    }
    _ = try? await device.waitUntilDisconnected()
    for request in requests { request.cancel() }
  }

  // MARK: - Changes of the file

  /// Takes the values of a description with the same structure, and sends those that have changed to subscribers.
  ///
  /// - Returns: a line for each value that has changed.
  package func update(to new: ServiceDescription) async -> [String] {
    let old = latest.withLock { latest in
      defer { latest = new }
      return latest
    }
    var lines: [String] = []
    for (index, service) in new.services.enumerated() {
      for (number, characteristic) in service.characteristics.enumerated() {
        let before = old.services[index].characteristics[number]
        let place = Place(service: index, characteristic: number)
        let value = characteristic.value
        let current = state.withLock { $0.answers[place]?.list }
        // A value that the file repeats does not replace one that a client has written.
        guard current != [.value(value)], characteristic.value != before.value else { continue }
        state.withLock { $0.answers[place] = Answers(list: [.value(value)]) }
        let uuid = characteristic.uuid
        lines.append("\(uuid.uuidString) is now \(ValueText.text(value[...], of: uuid))")
        if characteristic.properties.contains(.notify) || characteristic.properties.contains(.indicate) {
          try? await send(value, of: uuid)
        }
      }
    }
    return lines
  }

  private func send(_ octets: [UInt8], of uuid: BluetoothUUID) async throws {
    try await publication.withLock { $0 }?.send(octets, for: uuid)
  }
}

// MARK: - A whole database

extension ServedValues {
  /// The attributes of a description with handles.
  package func attributes() -> [PlacedAttribute] {
    var attributes: [PlacedAttribute] = []
    for (index, service) in description.services.enumerated() {
      guard let handles = service.handles else { continue }
      var declaration = Self.fixed(
        service.isPrimary ? .primaryService : .secondaryService, at: handles.lowerBound, service.uuid.inDeclaration)
      declaration.definition.groupEnd = AttributeHandle(rawValue: handles.upperBound)
      attributes.append(declaration)
      for include in service.includes { attributes.append(Self.fixed(.include, at: include.handle, include.value)) }
      for (number, characteristic) in service.characteristics.enumerated() {
        append(characteristic, Place(service: index, characteristic: number), to: &attributes)
      }
    }
    return attributes
  }

  private func append(
    _ description: ServiceDescription.Characteristic, _ place: Place, to attributes: inout [PlacedAttribute]
  ) {
    guard let handle = description.handle, let valueHandle = description.placeOfValue else { return }
    let value = AttributeHandle(rawValue: valueHandle)
    let octets = [description.propertyBits.rawValue] + value.littleEndian + description.uuid.inDeclaration
    attributes.append(Self.fixed(.characteristic, at: handle, octets))
    attributes.append(
      PlacedAttribute(
        AttributeDefinition(
          handle: value, type: description.uuid, permissions: description.permissions, value: .dynamic),
        handlers: characteristic(description, place)))
    for descriptor in description.descriptors {
      var attribute = Self.fixed(descriptor.uuid, at: descriptor.handle, descriptor.value)
      if descriptor.uuid == .clientCharacteristicConfiguration {
        attribute.definition.value = .fixed([0, 0])
        attribute.definition.permissions.write = description.requirement(for: .subscribe)
      }
      attributes.append(attribute)
    }
  }

  private static func fixed(_ type: BluetoothUUID, at handle: UInt16, _ value: [UInt8]) -> PlacedAttribute {
    PlacedAttribute(AttributeDefinition(handle: AttributeHandle(rawValue: handle), type: type, value: .fixed(value)))
  }
}

extension ServiceDescription.Characteristic {
  /// The properties in the declaration.
  package var propertyBits: GATTCharacteristicProperties {
    GATTCharacteristicProperties(properties.map(\.bit)).union(GATTCharacteristicProperties(otherProperties.map(\.bit)))
  }

  fileprivate var permissions: GATTAttributePermissions {
    let isWritable = properties.contains(.write) || properties.contains(.writeWithoutResponse) || !writes.isEmpty
    return GATTAttributePermissions(
      read: properties.contains(.read) || !reads.isEmpty ? requirement(for: .read) : nil,
      write: isWritable ? requirement(for: .write) : nil)
  }

  fileprivate func requirement(for access: ServiceDescription.Access) -> AccessRequirement {
    guard secures.contains(access) else { return .open }
    var requirement: AccessRequirement
    switch security {
    case .none: return .open
    case .encrypted: requirement = .encrypted
    case .authenticated: requirement = .authenticated
    }
    requirement.refusal = refusal.map { ATTErrorCode(rawValue: $0) }
    return requirement
  }
}

extension ServiceDescription.Connection {
  fileprivate var request: ConnectionParameterRequest {
    ConnectionParameterRequest(
      interval: .microseconds(
        1_250 * Int(interval.lowerBound))...Duration.microseconds(
          1_250 * Int(interval.upperBound)),
      latency: Int(latency), supervisionTimeout: .milliseconds(10 * Int(timeout)))
  }
}

extension BluetoothUUID {
  /// In a declaration, a UUID of 32 bits has 128 (Vol 3, Part F, 3.2.1).
  fileprivate var inDeclaration: [UInt8] {
    size == .uuid32 ? BluetoothUUID(uuid128: value).littleEndian : littleEndian
  }
}

extension AttributeHandle {
  fileprivate var littleEndian: [UInt8] {
    [UInt8(truncatingIfNeeded: rawValue), UInt8(truncatingIfNeeded: rawValue >> 8)]
  }
}
