public import BLEWire
public import FoundationEssentials

/// The retained messages of the `connection` topics of one gateway: the devices for which the broker has one, and those
/// to withdraw.
///
/// A device that changes its private address has a topic for each address. The broker keeps a retained message until it
/// gets an empty one for the same topic, even while the gateway is unavailable. The gateway therefore subscribes to its
/// own messages as well: at a start it receives those of its earlier runs.
public struct ConnectionTopics: Sendable {
  public let topics: Topics

  private struct Device {
    var isConnected: Bool
    /// The paths of the subscriptions that the device has refused on this connection.
    var refused: [String] = []
    /// The number of the latest change.
    var change: Int
  }

  private var devices: [DeviceAddress: Device] = [:]
  private var changes = 0

  /// Devices whose connection topic this gateway has published, without those that are connected. With one more, the
  /// message of the device that has been disconnected for the longest time is withdrawn.
  public static let deviceLimit = 512

  /// Refused subscriptions in the message of a device; the counter of the gateway has all.
  public static let refusedLimit = 16

  public init(topics: Topics) { self.topics = topics }

  /// The devices that are connected.
  public var connectedCount: Int { devices.values.count(where: \.isConnected) }

  /// A device is connected, or no longer.
  ///
  /// - Returns: the retained messages for the broker: those that withdraw others, and last the one of this device.
  public mutating func changed(
    _ address: DeviceAddress, isConnected: Bool, reason: String? = nil, at time: Date
  ) -> [ValueQueue.Message] {
    let payload = Messages.connection(isConnected: isConnected, gateway: topics.gateway, at: time, reason: reason)
    note(address.identity, isConnected: isConnected)
    return makeRoom() + [message(address, payload)]
  }

  /// A message was received on the `connection` topic of a device: one that another gateway has published, or this one
  /// now or in an earlier run.
  ///
  /// The latest gateway owns the topic, so no gateway withdraws the message of another one.
  ///
  /// - Parameter time: now.
  /// - Returns: the messages that withdraw others, and one that corrects the received one: if this gateway is connected
  ///   to a device from which another one has disconnected, and if an earlier run was not ended in order.
  public mutating func received(
    _ payload: Data, for address: DeviceAddress, at time: Date
  ) -> [ValueQueue.Message] {
    let address = address.identity
    let found = Messages.readConnection(payload)
    let isOwn = found?.gateway == topics.gateway
    if let device = devices[address], device.isConnected {
      return isOwn || found?.isConnected != false ? [] : [message(address, connected(device, at: time))]
    }
    guard isOwn else {
      devices[address] = nil
      return []
    }
    guard devices[address] == nil else { return [] }
    note(address, isConnected: false)
    let correction = message(
      address, Messages.connection(isConnected: false, gateway: topics.gateway, at: time))
    return makeRoom() + (found?.isConnected == true ? [correction] : [])
  }

  /// A connected device has refused a subscription.
  ///
  /// - Returns: the retained message of the device.
  public mutating func refused(_ attribute: AttributeName, at time: Date) -> [ValueQueue.Message] {
    let address = attribute.address.identity
    guard var device = devices[address], device.isConnected, !device.refused.contains(attribute.path),
      device.refused.count < Self.refusedLimit
    else { return [] }
    device.refused.append(attribute.path)
    devices[address] = device
    return [message(address, connected(device, at: time))]
  }

  private func connected(_ device: Device, at time: Date) -> Data {
    Messages.connection(
      isConnected: true, gateway: topics.gateway, at: time, refused: device.refused.isEmpty ? nil : device.refused)
  }

  private mutating func note(_ address: DeviceAddress, isConnected: Bool) {
    changes += 1
    devices[address] = Device(isConnected: isConnected, change: changes)
  }

  private mutating func makeRoom() -> [ValueQueue.Message] {
    var withdrawn: [ValueQueue.Message] = []
    var count = devices.count - connectedCount
    while count > Self.deviceLimit,
      let oldest = devices.filter({ !$0.value.isConnected }).min(by: { $0.value.change < $1.value.change })
    {
      devices[oldest.key] = nil
      count -= 1
      withdrawn.append(message(oldest.key, Data()))
    }
    return withdrawn
  }

  private func message(_ address: DeviceAddress, _ payload: Data) -> ValueQueue.Message {
    ValueQueue.Message(topic: topics.connection(address), payload: payload, isRetained: true)
  }
}
