import BLEATT
import BLEGAP
import BLEGATT
package import BLEHCI
import BLEKit
package import BLETrace
package import BLEWire
import ToolCore

/// A copy of a device, and what it lacks.
package struct Twin {
  package var description: ServiceDescription
  /// What the trace does not show, or a copy does not have; each is a sentence.
  package var notes: [String]
}

extension SeenDevice {
  /// The copy of a device: its database with the handles, its advertisement and its behaviour, as far as a trace shows
  /// them.
  ///
  /// - Parameters:
  ///   - fallback: the name of a device without one.
  ///   - recorder: has the packets of the trace.
  ///   - link: the link of the device, for a trace without addresses.
  ///   - address: the address of the device.
  ///   - keepsAddress: whether the copy has that address.
  package func twin(
    orNamed fallback: String, in recorder: TwinRecorder, link: ConnectionHandle?, address: DeviceAddress?,
    keepsAddress: Bool = false
  ) -> Twin {
    var device = self
    if isThisHost, let data = recorder.own.data {
      let contents = AdvertisedData(advertisingData: data[...], scanResponse: (recorder.own.scanResponse ?? [])[...])
      (device.name, device.appearance) = (contents.name, contents.appearance?.rawValue)
    }
    return device.copy(orNamed: fallback, in: recorder, link, address, keepsAddress: keepsAddress)
  }

  private func copy(
    orNamed fallback: String, in recorder: TwinRecorder, _ link: ConnectionHandle?, _ address: DeviceAddress?,
    keepsAddress: Bool
  ) -> Twin {
    let sessions = recorder.sessions.filter { isThisHost || (address != nil ? $0.peer == address : $0.link == link) }
    let behaviour = TwinBehaviour(of: self, in: sessions)
    var notes: [String] = []
    if recorder.isCut {
      notes.append("the trace has more than \(TwinRecorder.packetLimit) packets of links: the rest is left out")
    }
    var description = ServiceDescription(
      name: descriptionName(or: fallback), appearance: descriptionAppearance, advertise: nil,
      services: services.compactMap { Self.twin(of: $0, behaviour, &notes) })
    takeNameAndAppearance(into: &description, &notes)
    let advertiser = isThisHost ? recorder.own : address.flatMap { recorder.advertisers[$0] }
    describe(advertiser, in: &description, &notes)
    if let train = advertiser?.train { describe(train, in: &description, &notes) }
    describe(address, keepsAddress: keepsAddress, in: &description, &notes)
    (description.mtu, description.connection) = (behaviour.mtu, behaviour.connection)
    if behaviour.mtu == nil { notes.append("no exchange of the MTU was seen: the copy offers the greatest one") }
    description.pairing = behaviour.pairing
    if behaviour.hasPaired { notes.append("the keys of the trace are not taken over: clients pair anew") }
    for text in behaviour.leftOut { notes.append("\(text) is not repeated") }
    if services.first(where: { $0.uuid == "1800" }) == nil {
      notes.append("no discovery of Generic Access was seen: the copy lacks that service")
    }
    let isWritable = description.services.contains { $0.characteristics.contains(where: \.isWritable) }
    if isWritable {
      notes.append("writes of values that were not seen are accepted: they are read from then on, and nothing is sent")
    }
    return Twin(description: description, notes: notes)
  }

  /// Gives the values of Generic Access that were not read what is advertised.
  private func takeNameAndAppearance(into description: inout ServiceDescription, _ notes: inout [String]) {
    for service in description.services.indices where description.services[service].uuid == .genericAccess {
      for index in description.services[service].characteristics.indices {
        let characteristic = description.services[service].characteristics[index]
        guard characteristic.value.isEmpty, characteristic.reads.isEmpty else { continue }
        var value: [UInt8] = []
        switch characteristic.uuid {
        case .deviceName: value = Array((name ?? "").utf8.prefix(ServiceDescription.maximumNameLength))
        case .appearance:
          value = appearance.map { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] } ?? []
        default: break  // They are not advertised.
        }
        guard !value.isEmpty else { continue }
        description.services[service].characteristics[index].value = value
        notes.removeAll { $0 == Self.unseen("\(characteristic.uuid.uuidString) of 1800") }
        notes.append("the value of \(characteristic.uuid.uuidString) of 1800 was not seen: it is the advertised one")
      }
    }
  }

  private static func unseen(_ place: String) -> String { "the value of \(place) was not seen: it is empty" }

  private func describe(
    _ advertiser: TwinRecorder.Advertiser?, in description: inout ServiceDescription, _ notes: inout [String]
  ) {
    guard let advertiser, let data = advertiser.data else {
      notes.append("no advertisement was seen: the copy advertises its name and its primary services")
      description.advertise = description.services
        .filter { $0.isPrimary && !Self.ownServices.contains($0.uuid) }.map(\.uuid)
      return
    }
    var advertising = ServiceDescription.Advertising()
    (advertising.data, advertising.scanResponse) = (data, advertiser.scanResponse ?? [])
    (advertising.isExtended, advertising.isConnectable) = (advertiser.isExtended, advertiser.isConnectable)
    advertising.interval = advertiser.milliseconds
    if advertising.isExtended, advertising.isConnectable, !advertising.scanResponse.isEmpty {
      advertising.scanResponse = []
    }
    if advertiser.scanResponse == nil, !advertiser.isExtended {
      notes.append("no scan response was seen: the copy has none")
    }
    if advertising.interval == nil {
      notes.append("too few advertisements were seen to tell their interval: the copy has 100 to 150 ms")
    }
    description.advertising = advertising
  }

  private func describe(
    _ train: TwinRecorder.Train, in description: inout ServiceDescription, _ notes: inout [String]
  ) {
    guard train.interval > 0 || train.data != nil else { return }
    guard let data = train.data else {
      return notes.append("periodic advertising was announced, and none of it is in the trace: the copy has none")
    }
    var periodic = ServiceDescription.Periodic(data: data)
    // In whole milliseconds, and not shorter.
    if train.interval > 0 { periodic.interval = (UInt32(train.interval) * 5 + 3) / 4 }
    description.periodic = periodic
    notes.append("the periodic advertising has the last data of the trace")
  }

  private func describe(
    _ address: DeviceAddress?, keepsAddress: Bool, in description: inout ServiceDescription, _ notes: inout [String]
  ) {
    guard !isThisHost, let address else { return notes.append("the trace does not show the address of the device") }
    switch address.randomKind {
    case .static:
      description.address = keepsAddress ? .given(address.octets) : .staticRandom
      if !keepsAddress {
        notes.append("the copy has a static address of its own; --keep-address takes the recorded one")
      }
    case .resolvablePrivate, .nonResolvablePrivate, .reserved:
      description.address = .resolvable
      notes.append("the copy has private addresses of its own")
    case nil:
      description.address = .publicAddress
      notes.append("the copy has the public address of its controller")
    }
  }

  private static func twin(
    of seen: Service, _ behaviour: TwinBehaviour, _ notes: inout [String]
  ) -> ServiceDescription.Service? {
    guard let handles = seen.handles else { return nil }
    var service = ServiceDescription.Service(uuid: seen.uuid, isPrimary: seen.isPrimary, characteristics: [])
    service.handles = handles.lowerBound.rawValue...handles.upperBound.rawValue
    service.includes = seen.includes.map { ServiceDescription.Include(handle: $0.handle.rawValue, value: $0.value) }
    if seen.characteristics.isEmpty, handles.lowerBound < handles.upperBound {
      notes.append("no discovery of the characteristics of \(seen.uuid.uuidString) was seen: the copy has none")
    }
    for (index, characteristic) in seen.characteristics.enumerated() {
      guard let declaration = characteristic.declaration, let handle = characteristic.handle else { continue }
      let next = index + 1 < seen.characteristics.count ? seen.characteristics[index + 1].declaration : nil
      let end = next.map { AttributeHandle(rawValue: $0.rawValue &- 1) } ?? handles.upperBound
      service.characteristics.append(
        twin(of: characteristic, declaration, handle, upTo: end, of: seen.uuid, behaviour, &notes))
    }
    return service
  }

  private static func twin(
    of seen: Characteristic, _ declaration: AttributeHandle, _ handle: AttributeHandle, upTo end: AttributeHandle,
    of service: BluetoothUUID, _ behaviour: TwinBehaviour, _ notes: inout [String]
  ) -> ServiceDescription.Characteristic {
    let place = "\(seen.uuid.uuidString) of \(service.uuidString)"
    let value = behaviour.values[handle] ?? TwinBehaviour.Value()
    var result = ServiceDescription.Characteristic(
      uuid: seen.uuid, properties: ServiceDescription.Property.members(of: seen.properties), value: [])
    result.otherProperties = ServiceDescription.OtherProperty.allCases.filter { seen.properties.contains($0.bit) }
    result.handle = declaration.rawValue
    if handle.rawValue != declaration.rawValue &+ 1 { result.valueHandle = handle.rawValue }
    if case .value(let octets)? = value.reads.first, value.reads.count == 1 {
      result.value = octets
    } else if !seen.properties.contains(.read), value.reads == [.error(ATTErrorCode.readNotPermitted.rawValue)] {
      // The answer to every read of a value without that property.
    } else {
      result.reads = value.reads
    }
    (result.subscriptions, result.writes) = (value.subscriptions, value.writes)
    let isWritable = !seen.properties.isDisjoint(with: [.write, .writeWithoutResponse])
    // The answer to every write of a value without these properties.
    if !isWritable { result.writes.removeAll { $0.error == ATTErrorCode.writeNotPermitted.rawValue } }
    if value.security != .none {
      result.security = value.security
      result.secures = value.secures
      result.refusal = value.refusal?.rawValue
      let others: [(ServiceDescription.Access, GATTCharacteristicProperties, String)] = [
        (.read, [.read], "reads"), (.write, [.write, .writeWithoutResponse], "writes"),
        (.subscribe, [.notify, .indicate], "subscriptions"),
      ]
      for (access, properties, name) in others
      where !value.secures.contains(access) && !seen.properties.isDisjoint(with: properties) {
        notes.append("whether \(name) of \(place) need security was not seen: they need none")
      }
    }
    for (descriptor, handle) in zip(seen.descriptors, seen.descriptorHandles)
    where ![.characteristic, .include, .primaryService, .secondaryService].contains(descriptor.uuid) {
      var octets: [UInt8] = []
      if descriptor.uuid != .clientCharacteristicConfiguration {
        if case .value(let read)? = behaviour.values[handle]?.reads.first { octets = read }
        if octets.isEmpty {
          notes.append(
            "the value of the descriptor \(descriptor.uuid.uuidString) of \(place) was not seen: it is empty")
        }
      }
      result.descriptors.append(
        ServiceDescription.Descriptor(uuid: descriptor.uuid, handle: handle.rawValue, value: octets))
    }
    let isUpdated = !seen.properties.isDisjoint(with: [.notify, .indicate])
    if isUpdated, !result.descriptors.contains(where: { $0.uuid == .clientCharacteristicConfiguration }) {
      let used = Set(result.descriptors.map(\.handle))
      if let free = (Int(handle.rawValue) + 1...Int(handle.rawValue) + 4).first(where: {
        $0 <= Int(end.rawValue) && !used.contains(UInt16(truncatingIfNeeded: $0))
      }) {
        let configuration = ServiceDescription.Descriptor(
          uuid: .clientCharacteristicConfiguration, handle: UInt16(truncatingIfNeeded: free), value: [])
        result.descriptors = (result.descriptors + [configuration]).sorted { $0.handle < $1.handle }
        notes.append(
          "no discovery of the descriptors of \(place) was seen: its configuration (2902) is at handle \(free)")
      } else {
        notes.append("no discovery of the descriptors of \(place) was seen: clients cannot subscribe")
      }
    }
    if seen.properties.contains(.read), value.reads.isEmpty {
      notes.append(unseen(place))
    }
    if isUpdated, seen.uuid != "2A05", value.subscriptions.isEmpty, !behaviour.isSentAfterWrites(handle) {
      notes.append("no value that \(place) sends was seen: the copy sends none")
    }
    return result
  }
}

extension TwinBehaviour {
  /// Whether a write of any value was followed by a value of this characteristic.
  fileprivate func isSentAfterWrites(_ handle: AttributeHandle) -> Bool {
    values.contains { place, value in
      value.writes.contains { write in
        write.updates.contains { $0.isValue && ($0.handle ?? place.rawValue) == handle.rawValue }
      }
    }
  }
}

extension ServiceDescription.Characteristic {
  fileprivate var isWritable: Bool { properties.contains(.write) || properties.contains(.writeWithoutResponse) }
}

extension ServiceDescription.Property {
  /// Those of a declaration, in the order of a description.
  static func members(of bits: GATTCharacteristicProperties) -> [Self] {
    [.read, .write, .writeWithoutResponse, .notify, .indicate].filter { bits.contains($0.bit) }
  }

  var bit: GATTCharacteristicProperties {
    switch self {
    case .read: .read
    case .write: .write
    case .writeWithoutResponse: .writeWithoutResponse
    case .notify: .notify
    case .indicate: .indicate
    }
  }
}

extension ServiceDescription.OtherProperty {
  var bit: GATTCharacteristicProperties {
    switch self {
    case .broadcast: .broadcast
    case .signedWrite: .authenticatedSignedWrites
    case .extended: .extendedProperties
    }
  }
}
