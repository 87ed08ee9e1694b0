public import BLEAdapter
public import BLEHost
import BLESMP

/// A question of a pairing that the user or the program answers, from ``Adapter/pairingRequests``.
///
/// Answer it with ``reply`` within 30 seconds, after which the other device ends the pairing (Vol 3, Part H, 3.4). An
/// answer that comes too late, or a second one, has no effect.
public struct PairingRequest: Sendable {
  /// The question (Vol 3, Part H, 2.3.5).
  public enum Question: Hashable, Sendable {
    /// Whether to pair with the device; asked only with ``PairingOptions/asksConsent``.
    case consent
    /// Whether the device may replace the bond of a device whose identity it has not proven; asked only with
    /// ``PairingOptions/BondReplacement-swift.enum/ask``.
    case replaceBond
    /// Show these six digits until the pairing ends; the user types them on the other device.
    case display(passkey: String)
    /// Ask for the digits that the other device shows, and ``PairingReply/enter(passkey:)``.
    case enterPasskey
    /// Ask whether the other device shows the same six digits.
    case compare(number: String)
  }

  /// The device that pairs.
  public let device: RemoteDevice
  /// The question.
  public let question: Question
  /// Answers the question, on any thread.
  public let reply: PairingReply
}

extension Adapter {
  /// The questions of pairings, from now on and for as long as the sequence is read. Without a reader they are
  /// rejected: take the sequence before a device can pair, and not in a task, which may begin later.
  ///
  /// ```swift
  /// let requests = adapter.pairingRequests
  /// let questions = Task {
  ///   for await request in requests {
  ///     switch request.question {
  ///     case .display(let passkey): print("type \(passkey) on the other device")
  ///     default: request.reply.reject()
  ///     }
  ///   }
  /// }
  /// ```
  public var pairingRequests: AsyncStream<PairingRequest> { session.stream(in: \.pairingStreams) }

  /// The devices that this adapter is bonded with, the oldest bond first.
  public var bonds: [Bond] { session.client.bonds }

  /// The bond of a device, by its identity address, or by the fixed address that it uses instead; nil if there is none.
  public func bond(of device: DeviceAddress) -> Bond? {
    bonds.first { $0.identity == device.identity } ?? bonds.first { $0.fixedAddresses.contains(device.identity) }
  }

  /// Removes a bond. The other device has to remove its own before the two can pair again.
  public func remove(_ bond: Bond) { session.client.remove(bond) }

  /// Forgets what was discovered of a bonded device's services, whether it is connected or not. The next
  /// ``RemoteDevice/services()`` discovers them anew.
  public func forgetServices(of bond: Bond) {
    session.run { state, _ in
      for peer in state.links.keys where state.links[peer]?.address == bond.identity {
        state.links[peer]?.discovered = [:]
      }
    }
    session.client.discardAttributeCache(of: bond)
  }

  /// The devices that central managers of CoreBluetooth remember besides these bonds (`AdapterOptions.deviceStorage`).
  /// BLEKit names devices by their addresses, and remembers none itself.
  package var rememberedDevices: [DeviceAddress] { session.client.hub?.devices.remembered?.all ?? [] }

  /// Removes a remembered device.
  ///
  /// - Returns: whether it was remembered.
  package func forget(_ device: DeviceAddress) -> Bool {
    session.client.hub?.devices.remembered?.remove(device) ?? false
  }

  /// Changes how the adapter pairs from now on, for all users of it. A running pairing continues as it began.
  public func setPairing(_ options: PairingOptions) { session.client.setPairing(options) }
}

extension AdapterSession.State {
  mutating func asked(
    _ peer: LinkID, _ id: PairingQuestionID, _ question: PairingQuestion, of session: AdapterSession,
    into actions: inout Actions
  ) {
    guard let device = device(peer, of: session), !pairingStreams.isEmpty else {
      let isConcerned = links[peer] != nil
      return actions.later { session.client.decline(question, id, of: peer, isConcerned: isConcerned) }
    }
    let asked: PairingRequest.Question =
      switch PairingPrompt(question) {
      case .consent: .consent
      case .replaceBond: .replaceBond
      case .display(let passkey): .display(passkey: passkey)
      case .enterPasskey: .enterPasskey
      case .compare(let number): .compare(number: number)
      }
    let request = PairingRequest(device: device, question: asked, reply: session.client.reply(to: id, of: peer))
    pairingStreams.yield(request, into: &actions)
  }
}
