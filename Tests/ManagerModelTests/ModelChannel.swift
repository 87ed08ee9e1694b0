import Foundation

@testable import CoreBluetoothTypes

/// One end of an L2CAP channel: frames of eight octets with a number, in both directions.
final class ModelChannel {
  private static let frame = 8
  private let channel: CBL2CAPChannel
  private(set) var sent: [Int] = []
  private(set) var received: [Int] = []
  private(set) var hasEnded = false
  private var rest: [UInt8] = []
  /// Octets of a frame that found no room.
  private var unsent: [UInt8] = []

  init(_ channel: CBL2CAPChannel) {
    self.channel = channel
    channel.inputStream.open()
    channel.outputStream.open()
  }

  /// Sends frames with this number, as far as there is room: a write that finds none would wait.
  func send(_ number: Int, count: Int) {
    flush()
    for _ in 0..<count where !hasEnded && unsent.isEmpty && channel.outputStream.hasSpaceAvailable {
      unsent = [UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)] + [UInt8](repeating: 0xA5, count: Self.frame - 2)
      sent.append(number)
      flush()
    }
  }

  private func flush() {
    guard !unsent.isEmpty, channel.outputStream.hasSpaceAvailable else { return }
    unsent.removeFirst(max(0, channel.outputStream.write(unsent, maxLength: unsent.count)))
  }

  /// Reads what has arrived.
  ///
  /// - Returns: what is wrong with it; nil if nothing is.
  func read() -> String? {
    flush()
    var octets = [UInt8](repeating: 0, count: 4096)
    while !hasEnded, channel.inputStream.hasBytesAvailable {
      let count = channel.inputStream.read(&octets, maxLength: octets.count)
      if count <= 0 { hasEnded = true } else { rest += octets[..<count] }
    }
    switch channel.inputStream.streamStatus {
    case .atEnd, .closed, .error: hasEnded = true
    default: break
    }
    while rest.count >= Self.frame {
      let frame = Array(rest.prefix(Self.frame))
      rest.removeFirst(Self.frame)
      let number = Int(frame[0]) << 8 | Int(frame[1])
      if frame[2...].contains(where: { $0 != 0xA5 }) { return "octets of a channel are lost: \(frame)" }
      if let last = received.last, last > number { return "\(number) is received after \(last)" }
      received.append(number)
    }
    return nil
  }

  func close() {
    channel.inputStream.close()
    channel.outputStream.close()
    hasEnded = true
  }
}

extension ModelDevice {
  func add(_ channel: CBL2CAPChannel) { channels.append(ModelChannel(channel)) }

  /// Reads what has arrived on all channels, which gives the other device credits for more.
  func readChannels() {
    for channel in channels { if let fault = channel.read() { faults.append(fault) } }
  }

  func performOnChannel(_ action: ModelMove.Action) {
    guard let channel = channels.last(where: { !$0.hasEnded }) else { return }
    switch action {
    case .send(let count): channel.send(number, count: count)
    default: channel.close()
    }
  }
}
