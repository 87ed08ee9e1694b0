internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// Encryption of links, and the host's cryptographic commands (Vol 4, Part E, 7.8.22 to 7.8.26, 7.8.36 and 7.8.37).
extension VirtualController {
  mutating func obeySecurityCommand(_ packet: HCICommandPacket, _ air: inout Air) {
    switch packet.opcode {
    case .leEncrypt:
      answer(packet, as: HCI.LEEncrypt.self, &air) { _, command, air in
        let result = try? air.cryptography.encrypt(command.plaintextData, key: command.key)
        return .init {
          $0.status = result == nil ? .hardwareFailure : .success
          $0.encryptedData = result ?? 0
        }
      }
    case .leRand:
      answer(packet, as: HCI.LERand.self, &air) { me, _, _ in .init { $0.randomNumber = me.random.next() } }
    case .leReadLocalP256PublicKey:
      answer(packet, as: HCI.LEReadLocalP256PublicKey.self, &air) { _, _, _ in
        .init()
      } then: { me, _, air in
        me.keyPair = try? air.cryptography.keyPair(from: &me.random)
        let key = me.keyPair?.publicKey
        me.send(
          HCI.LEReadLocalP256PublicKeyComplete {
            $0.status = key == nil ? .hardwareFailure : .success
            $0.keyXCoordinate = key?.x.littleEndianOctets[...] ?? []
            $0.keyYCoordinate = key?.y.littleEndianOctets[...] ?? []
          }, &air)
      }
    case .leGenerateDHKey:
      answer(packet, as: HCI.LEGenerateDHKey.self, &air) { me, _, _ in
        .init { $0.status = me.keyPair == nil ? .commandDisallowed : .success }
      } then: { me, command, air in
        me.generateDHKey(command, &air)
      }
    case .leEnableEncryption: enableEncryption(packet, &air)
    default: replyToKeyRequest(packet, &air)
    }
  }

  /// A public key that is no point of the curve gives 0x12 (Vol 4, Part E, 7.8.37).
  private mutating func generateDHKey(_ command: HCI.LEGenerateDHKey, _ air: inout Air) {
    var status = HCIErrorCode.success
    var result: Bytes = Bytes(repeating: 0xFF, count: 32)
    do throws(CryptographyError) {
      guard let pair = keyPair, let peer = P256PublicKey(littleEndian: command.keyXCoordinate + command.keyYCoordinate)
      else { throw .notOnCurve }
      result = try air.cryptography.sharedSecret(pair.privateKey, with: peer).littleEndianOctets[...]
    } catch {
      status = error == .notOnCurve ? .invalidCommandParameters : .hardwareFailure
    }
    send(
      HCI.LEGenerateDHKeyComplete {
        $0.status = status
        $0.dhKey = result
      }, &air)
  }

  /// Vol 4, Part E, 7.8.24: only the central, and one procedure at a time.
  private mutating func enableEncryption(_ packet: HCICommandPacket, _ air: inout Air) {
    answer(packet, as: HCI.LEEnableEncryption.self, &air) { me, command, _ in
      guard let index = me.linkIndex(command.connectionHandle) else {
        return .init { $0.status = .unknownConnectionIdentifier }
      }
      let mayBegin = me.links[index].role == .central && me.links[index].encryption == .none
      return .init { $0.status = mayBegin ? .success : .commandDisallowed }
    } then: { me, command, air in
      guard let index = me.linkIndex(command.connectionHandle) else { return }
      let diversifier = me.random.uint128()
      me.links[index].encryption = .requested(
        longTermKey: command.longTermKey, sessionKeyDiversifier: diversifier)
      let request = LinkLayerPDU.encryptionRequest(
        randomNumber: command.randomNumber, encryptedDiversifier: command.encryptedDiversifier,
        sessionKeyDiversifier: diversifier)
      if air.pacing == .airtime, me.links[index].isEncrypted {
        me.links[index].encryptionRequestAfterPause = request
        me.send(.pauseEncryptionRequest, on: index, &air)
      } else {
        me.send(request, on: index, &air)
      }
    }
  }

  /// The peripheral has paused encryption; the central confirms it and asks for the new key (Vol 6, Part B, 5.1.3.2).
  mutating func resumeEncryption(on index: Int, _ air: inout Air) {
    guard let request = links[index].encryptionRequestAfterPause else { return }
    links[index].encryptionRequestAfterPause = nil
    send(.pauseEncryptionResponse, on: index, &air)
    send(request, on: index, &air)
  }

  /// The central asks for encryption: the peripheral's host has the key, or has it not.
  mutating func considerEncryption(
    randomNumber: UInt64, encryptedDiversifier: UInt16, sessionKeyDiversifier: UInt128, on index: Int, _ air: inout Air
  ) {
    guard configuration.features.contains(.encryption) else {
      return send(.encryptionReject(.unsupportedRemoteFeature), on: index, &air)
    }
    if air.pacing == .airtime { send(.encryptionResponse, on: index, &air) }
    links[index].encryption = .awaitingKey(sessionKeyDiversifier: sessionKeyDiversifier)
    let handle = links[index].handle
    let isAsked = send(
      HCI.LELongTermKeyRequest {
        $0.connectionHandle = handle
        $0.randomNumber = randomNumber
        $0.encryptedDiversifier = encryptedDiversifier
      }, &air)
    if !isAsked { rejectEncryption(on: index, &air) }
  }

  private mutating func replyToKeyRequest(_ packet: HCICommandPacket, _ air: inout Air) {
    if packet.opcode == .leLongTermKeyRequestReply {
      answer(packet, as: HCI.LELongTermKeyRequestReply.self, &air) { me, command, _ in
        me.answerToKeyReply(on: command.connectionHandle)
      } then: { me, command, air in
        guard let index = me.linkIndex(command.connectionHandle),
          case .awaitingKey(let diversifier) = me.links[index].encryption
        else { return }
        guard let key = try? air.cryptography.encrypt(diversifier, key: command.longTermKey) else {
          return me.rejectEncryption(on: index, &air)
        }
        me.links[index].encryption = .starting
        me.send(.startEncryption(sessionKey: key), on: index, &air)
      }
    } else {
      answer(packet, as: HCI.LELongTermKeyRequestNegativeReply.self, &air) { me, command, _ in
        me.answerToKeyReply(on: command.connectionHandle)
      } then: { me, command, air in
        if let index = me.linkIndex(command.connectionHandle) { me.rejectEncryption(on: index, &air) }
      }
    }
  }

  /// Whether the host was asked for that link's key.
  private func answerToKeyReply(on handle: ConnectionHandle) -> HCI.LinkResponse {
    let response = HCI.LinkResponse { $0.connectionHandle = handle }
    guard let index = linkIndex(handle) else { return response.refused(.unknownConnectionIdentifier) }
    if case .awaitingKey = links[index].encryption { return response }
    return response.refused(.commandDisallowed)
  }

  /// No key: the link stays plain, and one that was encrypted ends (Vol 6, Part B, 5.1.3.2).
  private mutating func rejectEncryption(on index: Int, _ air: inout Air) {
    if links[index].isEncrypted {
      send(.terminate(.pinOrKeyMissing), on: index, &air)
    } else {
      links[index].encryption = .none
      send(.encryptionReject(.pinOrKeyMissing), on: index, &air)
      release(index, &air)
    }
  }

  /// The peripheral has the key: both session keys are equal where both long term keys are.
  ///
  /// Unequal ones show on the air as a message whose integrity check fails; the link ends at once, on both ends.
  mutating func startEncryption(_ sessionKey: UInt128, on index: Int, _ air: inout Air) {
    guard case .requested(let key, let diversifier) = links[index].encryption else { return }
    guard let own = try? air.cryptography.encrypt(diversifier, key: key), air.cryptography.areEqual(own, sessionKey)
    else {
      send(.integrityFailure, on: index, &air)
      return close(index, .terminatedMICFailure, &air)
    }
    send(.encryptionStarted, on: index, &air)
    if air.pacing == .airtime {
      links[index].encryption = .starting
    } else {
      finishEncryption(.success, on: index, &air)
    }
  }

  /// The procedure is over: the host is told, and data moves again.
  mutating func finishEncryption(_ status: HCIErrorCode, on index: Int, _ air: inout Air) {
    let handle = links[index].handle
    let wasEncrypted = links[index].isEncrypted
    links[index].encryption = .none
    if status.isSuccess { links[index].isEncrypted = true }
    if wasEncrypted {
      send(
        HCI.EncryptionKeyRefreshComplete {
          $0.status = status
          $0.connectionHandle = handle
        }, &air)
    } else if allows(.encryptionChangeV2) {
      send(
        HCI.EncryptionChangeV2 {
          $0.status = status
          $0.connectionHandle = handle
          $0.encryptionEnabled = status.isSuccess ? .on : .off
          $0.encryptionKeySize = status.isSuccess ? 16 : 0
        }, &air)
    } else {
      send(
        HCI.EncryptionChange {
          $0.status = status
          $0.connectionHandle = handle
          $0.encryptionEnabled = status.isSuccess ? .on : .off
        }, &air)
    }
    release(index, &air)
  }
}
