import BLEHCI
import BLEWire

/// Why a command was sent: the part that the answer is for.
enum Purpose: Sendable, Equatable {
  case setup(SetupStep)
  case radio(RadioPurpose)
  case link(LinkID, LinkPurpose)
  /// The transfer of a synchronization to the device of a link.
  case transfer(SyncTransfer)
  /// The end of a link whose device has connected again.
  case endingSuperseded(ConnectionHandle)
  /// Nothing depends on the answer; a refusal is reported.
  case reply
}

/// Why a part of the radio has sent a command.
enum RadioPurpose: Sendable, Equatable {
  case advertising(AdvertisingID, DeclaredAdvertisement.Step)
  case scanning(Scanner.Step)
  case initiating(Initiator.Step)
  case synchronizing(Synchronizer.Step)
  case address
}

/// The transfer of a synchronization, for the answer to its owner.
struct SyncTransfer: Sendable, Equatable {
  enum Subject: Sendable, Equatable {
    /// Our own train.
    case advertisement(AdvertisingID)
    /// One that we receive.
    case synchronization(SyncID)
  }

  let subject: Subject
  let peer: LinkID
  let owner: OwnerID

  func answer(_ result: Result<Void, HostError>) -> AddressedEvent<HostEvent> {
    switch subject {
    case .advertisement(let id): AddressedEvent(.advertising(id, .transferred(peer, result)), to: owner.recipient)
    case .synchronization(let id): AddressedEvent(.synchronizing(id, .transferred(peer, result)), to: owner.recipient)
    }
  }
}

/// Why a command about a link was sent.
enum LinkPurpose: Sendable, Equatable {
  case disconnect
  case connectionUpdate(OwnerID)
  case subrate(OwnerID)
  /// The features of the peer, for a request for another connection rate.
  case featurePages(OwnerID)
  case connectionRate(OwnerID)
  case rssi(OwnerID)
  case power(LinkPowerCommand, OwnerID)
  case setPHY(OwnerID)
  case readPHY(OwnerID)
  case tuning
  case encryption

  /// The event that answers the owner of the command; nil where the owner gets none.
  ///
  /// - Parameters:
  ///   - peer: the link.
  ///   - returned: the return parameters.
  ///   - error: why the command has failed, if it has.
  func answer(about peer: LinkID, _ returned: Bytes, _ error: HostError?) -> AddressedEvent<HostEvent>? {
    switch self {
    case .rssi(let owner):
      let result = Self.result(.readRSSI, error) { () throws(CodecError) in
        try HCI.ReadRSSI.Response(returned: returned).rssi
      }
      return AddressedEvent(.link(peer, .rssi(result)), to: owner.recipient)
    case .readPHY(let owner):
      let result = Self.result(.leReadPHY, error) { () throws(CodecError) in
        let response = try HCI.LEReadPHY.Response(returned: returned)
        return ConnectionPHY(reported: response.txPHY, response.rxPHY)
      }
      return AddressedEvent(.link(peer, .phy(result)), to: owner.recipient)
    case .connectionUpdate(let owner):
      return error.map { AddressedEvent(.link(peer, .connectionUpdateRefused($0)), to: owner.recipient) }
    case .setPHY(let owner):
      return error.map { AddressedEvent(.link(peer, .phy(.failure($0))), to: owner.recipient) }
    case .subrate(let owner):
      return error.map { AddressedEvent(.link(peer, .subrating(.failure($0))), to: owner.recipient) }
    case .power(let command, let owner):
      let event = error.flatMap { command.failure($0) }
      return event.map { AddressedEvent(.link(peer, .power($0)), to: owner.recipient) }
    case .featurePages(let owner), .connectionRate(let owner):
      return error.map { AddressedEvent(.link(peer, .connectionRate(.failure($0))), to: owner.recipient) }
    case .disconnect, .encryption, .tuning: return nil
    }
  }

  private static func result<Value>(
    _ opcode: HCIOpcode, _ error: HostError?, _ decode: () throws(CodecError) -> Value
  ) -> Result<Value, HostError> {
    if let error { return .failure(error) }
    do throws(CodecError) { return .success(try decode()) } catch { return .failure(.malformedAnswer(opcode)) }
  }
}
