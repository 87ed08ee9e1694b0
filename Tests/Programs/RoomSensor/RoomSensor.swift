// swift-format-ignore-file: NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

import CoreBluetooth

/// A sensor in the style of the tutorials on the peripheral role: every kind of characteristic, and a line for each
/// delegate call.
class RoomSensor: NSObject, CBPeripheralManagerDelegate {
  static let roomService = CBUUID(string: "181A")
  static let aboutService = CBUUID(string: "E5A00001-4B1D-4E0C-9C35-6B2D7A1F0C11")
  static let labelCharacteristic = CBUUID(string: "E5A00002-4B1D-4E0C-9C35-6B2D7A1F0C11")
  static let historyCharacteristic = CBUUID(string: "E5A00003-4B1D-4E0C-9C35-6B2D7A1F0C11")
  static let commandCharacteristic = CBUUID(string: "E5A00004-4B1D-4E0C-9C35-6B2D7A1F0C11")
  static let transferCharacteristic = CBUUID(string: "E5A00005-4B1D-4E0C-9C35-6B2D7A1F0C11")
  static let ownerCharacteristic = CBUUID(string: "E5A00006-4B1D-4E0C-9C35-6B2D7A1F0C11")
  static let alarmCharacteristic = CBUUID(string: "E5A00007-4B1D-4E0C-9C35-6B2D7A1F0C11")

  private var peripheralManager: CBPeripheralManager!
  private var temperature: CBMutableCharacteristic!
  private var label: CBMutableCharacteristic!
  private var history: CBMutableCharacteristic!
  private var transfer: CBMutableCharacteristic!
  private var owner: CBMutableCharacteristic!
  private var alarm: CBMutableCharacteristic!

  private var chunksToSend: [Data] = []
  private var commands = 0
  private let historyData = Data((0..<400).map { UInt8($0 % 251) })

  override init() {
    super.init()
    peripheralManager = CBPeripheralManager(
      delegate: self, queue: nil, options: [CBPeripheralManagerOptionShowPowerAlertKey: true])
  }

  // MARK: - Life cycle

  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
    switch peripheral.state {
    case .poweredOn:
      print("peripheralManagerDidUpdateState poweredOn")
      publish()
    case .poweredOff:
      print("peripheralManagerDidUpdateState poweredOff")
    case .unauthorized:
      switch CBManager.authorization {
      case .denied: print("Bluetooth is denied")
      case .restricted: print("Bluetooth is restricted")
      default: print("Bluetooth is not authorized")
      }
    case .unsupported: print("This device has no Bluetooth")
    case .resetting, .unknown: break
    @unknown default: break
    }
  }

  private func publish() {
    let manufacturer = CBMutableCharacteristic(
      type: CBUUID(string: "2A29"), properties: .read, value: "Example Works".data(using: .utf8), permissions: .readable
    )
    let model = CBMutableCharacteristic(
      type: CBUUID(string: "2A24"), properties: [.read], value: Data("RS-1".utf8), permissions: [.readable])
    let about = CBMutableService(type: RoomSensor.aboutService, primary: false)
    about.characteristics = [manufacturer, model]

    temperature = CBMutableCharacteristic(
      type: CBUUID(string: "2A6E"), properties: [.read, .notify], value: nil, permissions: [.readable])
    temperature.descriptors = [
      CBMutableDescriptor(type: CBUUID(string: CBUUIDCharacteristicUserDescriptionString), value: "Room temperature"),
      CBMutableDescriptor(
        type: CBUUID(string: CBUUIDCharacteristicFormatString), value: Data([0x0E, 0xFE, 0x2F, 0x27, 0x01, 0x00, 0x00])),
    ]
    label = CBMutableCharacteristic(
      type: RoomSensor.labelCharacteristic, properties: [.read, .write], value: nil,
      permissions: [.readable, .writeable])
    history = CBMutableCharacteristic(
      type: RoomSensor.historyCharacteristic, properties: .read, value: nil, permissions: .readable)
    let command = CBMutableCharacteristic(
      type: RoomSensor.commandCharacteristic, properties: .writeWithoutResponse, value: nil, permissions: .writeable)
    transfer = CBMutableCharacteristic(
      type: RoomSensor.transferCharacteristic, properties: .notify, value: nil, permissions: .readable)
    owner = CBMutableCharacteristic(
      type: RoomSensor.ownerCharacteristic, properties: .read, value: nil, permissions: .readEncryptionRequired)
    alarm = CBMutableCharacteristic(
      type: RoomSensor.alarmCharacteristic, properties: [.indicate, .indicateEncryptionRequired], value: nil,
      permissions: .readable)

    let room = CBMutableService(type: RoomSensor.roomService, primary: true)
    room.characteristics = [temperature, label, history, command, transfer, owner, alarm]
    room.includedServices = [about]
    peripheralManager.add(about)
    peripheralManager.add(room)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: Error?) {
    if let error = error {
      print("didAdd \(service.uuid.uuidString) failed: \(error.localizedDescription)")
      return
    }
    print("didAdd \(service.uuid.uuidString)")
    guard service.uuid == RoomSensor.roomService else { return }
    // From here on these are values of the program, not of the database.
    temperature.value = Data([0x66, 0x08])
    label.value = Data("unnamed".utf8)
    peripheral.startAdvertising([
      CBAdvertisementDataLocalNameKey: "Room",
      CBAdvertisementDataServiceUUIDsKey: [RoomSensor.roomService],
    ])
  }

  func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: Error?) {
    print("peripheralManagerDidStartAdvertising \(error?.localizedDescription ?? "without error")")
  }

  // MARK: - Requests

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
    print("didReceiveRead \(name(of: request.characteristic))")
    let value: Data
    switch request.characteristic.uuid {
    case temperature.uuid: value = temperature.value!
    case label.uuid: value = label.value!
    case history.uuid: value = historyData
    case owner.uuid: value = Data("Ada".utf8)
    default:
      peripheral.respond(to: request, withResult: .attributeNotFound)
      return
    }
    if request.offset > value.count {
      peripheral.respond(to: request, withResult: .invalidOffset)
      return
    }
    request.value = value.subdata(in: request.offset..<value.count)
    peripheral.respond(to: request, withResult: .success)
  }

  func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
    guard let first = requests.first else { return }
    let length = requests.reduce(0) { $0 + ($1.value?.count ?? 0) }
    print("didReceiveWrite \(name(of: first.characteristic)) \(length) octets in \(requests.count) parts")
    if first.characteristic.uuid == RoomSensor.commandCharacteristic {
      commands += 1
      if first.value == Data([100]) { print("\(commands) commands") }
      peripheral.respond(to: first, withResult: .success)
      return
    }
    var text = Data()
    for request in requests {
      guard let part = request.value, request.offset <= text.count else {
        peripheral.respond(to: request, withResult: .invalidOffset)
        return
      }
      text.replaceSubrange(request.offset..<min(request.offset + part.count, text.count), with: part)
    }
    guard String(data: text, encoding: .utf8) != nil, !text.isEmpty else {
      peripheral.respond(to: first, withResult: .invalidAttributeValueLength)
      return
    }
    label.value = text
    peripheral.respond(to: first, withResult: .success)
  }

  // MARK: - Subscriptions

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
  ) {
    print("didSubscribeTo \(name(of: characteristic))")
    switch characteristic.uuid {
    case transfer.uuid:
      let text = Data((0..<200).map { String(format: "%04d", $0) }.joined().utf8)
      chunksToSend = stride(from: 0, to: text.count, by: 4).map { text[$0..<$0 + 4] } + [Data("EOM".utf8)]
      sendChunks()
    case temperature.uuid:
      peripheral.updateValue(Data([0x70, 0x08]), for: temperature, onSubscribedCentrals: nil)
    case alarm.uuid:
      peripheral.updateValue(Data([0x01]), for: alarm, onSubscribedCentrals: [central])
    default: break
    }
  }

  func peripheralManager(
    _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
  ) {
    print("didUnsubscribeFrom \(name(of: characteristic))")
    if characteristic == transfer { chunksToSend = [] }
  }

  func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {
    print("peripheralManagerIsReady")
    sendChunks()
  }

  private func sendChunks() {
    while let chunk = chunksToSend.first {
      let didSend = peripheralManager.updateValue(chunk, for: transfer, onSubscribedCentrals: nil)
      if !didSend { return }  // peripheralManagerIsReady(toUpdateSubscribers:) goes on
      chunksToSend.removeFirst()
    }
  }

  private func name(of characteristic: CBCharacteristic) -> String {
    switch characteristic.uuid {
    case CBUUID(string: "2A6E"): return "temperature"
    case RoomSensor.labelCharacteristic: return "label"
    case RoomSensor.historyCharacteristic: return "history"
    case RoomSensor.commandCharacteristic: return "command"
    case RoomSensor.transferCharacteristic: return "transfer"
    case RoomSensor.ownerCharacteristic: return "owner"
    case RoomSensor.alarmCharacteristic: return "alarm"
    default: return characteristic.uuid.uuidString
    }
  }
}
