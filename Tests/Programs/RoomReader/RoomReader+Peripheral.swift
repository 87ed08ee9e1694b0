// swift-format-ignore-file: AlwaysUseLowerCamelCase, NeverForceUnwrap

import CoreBluetooth

/// What the reader does with the services, characteristics and values of the sensor.
extension RoomReader: CBPeripheralDelegate {
  static let aboutService = CBUUID(string: "E5A00001-4B1D-4E0C-9C35-6B2D7A1F0C11")
  static let temperature = CBUUID(string: "2A6E")
  static let label = CBUUID(string: "E5A00002-4B1D-4E0C-9C35-6B2D7A1F0C11")
  static let history = CBUUID(string: "E5A00003-4B1D-4E0C-9C35-6B2D7A1F0C11")
  static let command = CBUUID(string: "E5A00004-4B1D-4E0C-9C35-6B2D7A1F0C11")
  static let transfer = CBUUID(string: "E5A00005-4B1D-4E0C-9C35-6B2D7A1F0C11")
  static let owner = CBUUID(string: "E5A00006-4B1D-4E0C-9C35-6B2D7A1F0C11")
  static let alarm = CBUUID(string: "E5A00007-4B1D-4E0C-9C35-6B2D7A1F0C11")

  func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
    if let error = error {
      print("didDiscoverServices failed: \(error.localizedDescription)")
      centralManager.cancelPeripheralConnection(peripheral)
      return
    }
    for service in peripheral.services ?? [] {
      print("didDiscoverServices \(service.uuid.uuidString) primary \(service.isPrimary)")
      if round == .first {
        peripheral.discoverIncludedServices(nil, for: service)
      } else {
        peripheral.discoverCharacteristics([RoomReader.owner], for: service)
      }
    }
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: Error?) {
    guard let included = service.includedServices else { return }
    for service in included {
      print("didDiscoverIncludedServicesFor \(service.uuid == RoomReader.aboutService) primary \(service.isPrimary)")
      peripheral.discoverCharacteristics([CBUUID(string: "2A29"), CBUUID(string: "2A24")], for: service)
    }
    peripheral.discoverCharacteristics(nil, for: service)
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
    guard let found = service.characteristics else { return }
    print("didDiscoverCharacteristicsFor \(name(of: service.uuid)) \(found.map { name(of: $0.uuid) })")
    for characteristic in found {
      characteristics[characteristic.uuid] = characteristic
      if characteristic.properties.contains(.read), characteristic.uuid != RoomReader.owner {
        peripheral.readValue(for: characteristic)
      }
    }
    guard service.uuid == RoomReader.roomService else { return }
    if round == .second {
      peripheral.readValue(for: characteristics[RoomReader.owner]!)
    } else {
      peripheral.discoverDescriptors(for: characteristics[RoomReader.temperature]!)
    }
  }

  func peripheral(_ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: Error?)
  {
    let descriptors = characteristic.descriptors ?? []
    print("didDiscoverDescriptorsFor \(name(of: characteristic.uuid)) \(descriptors.map(\.uuid.uuidString).sorted())")
    for descriptor in descriptors.sorted(by: { $0.uuid.uuidString < $1.uuid.uuidString }) {
      peripheral.readValue(for: descriptor)
    }
    peripheral.writeValue(longLabel, for: characteristics[RoomReader.label]!, type: .withResponse)
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: Error?) {
    switch descriptor.uuid.uuidString {
    case CBUUIDCharacteristicUserDescriptionString:
      print("didUpdateValueFor descriptor \(descriptor.value as? String ?? "no text")")
    case CBUUIDClientCharacteristicConfigurationString:
      print("didUpdateValueFor descriptor configuration \(descriptor.value as? NSNumber ?? -1)")
    case CBUUIDCharacteristicFormatString:
      print("didUpdateValueFor descriptor format \((descriptor.value as? Data)?.count ?? 0) octets")
    default: print("didUpdateValueFor descriptor \(descriptor.uuid)")
    }
  }

  func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: Error?) {
    if let error = error as? CBATTError, error.code == .invalidAttributeValueLength {
      print("didWriteValueFor \(name(of: characteristic.uuid)) invalidAttributeValueLength")
      commandsToSend = (1...100).map { Data([UInt8($0)]) }
      sendCommands(to: peripheral)
    } else if let error = error {
      print("didWriteValueFor \(name(of: characteristic.uuid)) failed: \(error.localizedDescription)")
    } else {
      print("didWriteValueFor \(name(of: characteristic.uuid))")
      peripheral.readValue(for: characteristic)
    }
  }

  /// As many as there is room for; peripheralIsReady(toSendWriteWithoutResponse:) goes on.
  private func sendCommands(to peripheral: CBPeripheral) {
    while let command = commandsToSend.first {
      guard peripheral.canSendWriteWithoutResponse else { return }
      peripheral.writeValue(command, for: characteristics[RoomReader.command]!, type: .withoutResponse)
      commandsToSend.removeFirst()
    }
    peripheral.setNotifyValue(true, for: characteristics[RoomReader.temperature]!)
  }

  func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {
    print("peripheralIsReady")
    if !commandsToSend.isEmpty { sendCommands(to: peripheral) }
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: Error?
  ) {
    let state = characteristic.isNotifying ? "on" : "off"
    print(
      "didUpdateNotificationStateFor \(name(of: characteristic.uuid)) \(state) \(error?.localizedDescription ?? "")")
    if characteristic.uuid == RoomReader.transfer, !characteristic.isNotifying {
      peripheral.readValue(for: characteristics[RoomReader.owner]!)
    }
  }

  func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {
    guard error == nil, let value = characteristic.value else {
      print("didUpdateValueFor \(name(of: characteristic.uuid)) failed: \(error?.localizedDescription ?? "no value")")
      return
    }
    switch characteristic.uuid {
    case RoomReader.transfer: receive(value, from: peripheral)
    case RoomReader.temperature:
      let hundredths = value.withUnsafeBytes { Int16(littleEndian: $0.loadUnaligned(as: Int16.self)) }
      print("didUpdateValueFor temperature \(String(format: "%.2f", Double(hundredths) / 100))")
      if characteristic.isNotifying {
        peripheral.setNotifyValue(true, for: characteristics[RoomReader.transfer]!)
      }
    case RoomReader.history: print("didUpdateValueFor history \(value.count) octets")
    case RoomReader.label:
      print("didUpdateValueFor label \(value.count) octets")
      if value == longLabel { peripheral.writeValue(Data(), for: characteristic, type: .withResponse) }
    case RoomReader.owner:
      print("didUpdateValueFor owner \(String(data: value, encoding: .utf8) ?? "")")
      if round == .second {
        centralManager.cancelPeripheralConnection(peripheral)
      } else {
        peripheral.setNotifyValue(true, for: characteristics[RoomReader.alarm]!)
      }
    case RoomReader.alarm:
      print("didUpdateValueFor alarm \(value[0])")
      peripheral.readRSSI()
    default: print("didUpdateValueFor \(name(of: characteristic.uuid)) \(String(decoding: value, as: UTF8.self))")
    }
  }

  private func receive(_ chunk: Data, from peripheral: CBPeripheral) {
    if chunk == Data("EOM".utf8) {
      print("didUpdateValueFor transfer \(received.count) octets")
      peripheral.setNotifyValue(false, for: characteristics[RoomReader.transfer]!)
    } else {
      received.append(chunk)
    }
  }

  func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: Error?) {
    print("didReadRSSI \((-127...127).contains(RSSI.intValue)) \(error?.localizedDescription ?? "")")
    centralManager.cancelPeripheralConnection(peripheral)
  }

  func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
    print("didModifyServices \(invalidatedServices.map(\.uuid.uuidString))")
    peripheral.discoverServices([RoomReader.roomService])
  }

  private func name(of uuid: CBUUID) -> String {
    switch uuid {
    case RoomReader.roomService: return "room"
    case RoomReader.aboutService: return "about"
    case RoomReader.temperature: return "temperature"
    case RoomReader.label: return "label"
    case RoomReader.history: return "history"
    case RoomReader.command: return "command"
    case RoomReader.transfer: return "transfer"
    case RoomReader.owner: return "owner"
    case RoomReader.alarm: return "alarm"
    default: return uuid.uuidString
    }
  }
}
