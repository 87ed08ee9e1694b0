internal import BLECrypto
internal import BLEHCI
internal import BLEWire

/// Encryption of links, and the cryptographic commands (Vol 4, Part E, 7.8.22 to 7.8.26, 7.8.36 and 7.8.37).
extension VirtualController {
  mutating func performSecurityCommand(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    switch packet.opcode {
    case .leEncrypt:
      answer(packet, as: HCI.LEEncrypt.self, &context) { _, command, context in
        let result = try? context.cryptography.encrypt(command.plaintextData, key: command.key)
        return .init {
          $0.status = result == nil ? .hardwareFailure : .success
          $0.encryptedData = result ?? 0
        }
      }
    case .leRand:
      answer(packet, as: HCI.LERand.self, &context) { me, _, _ in .init { $0.randomNumber = me.random.next() } }
    case .leReadLocalP256PublicKey:
      answer(packet, as: HCI.LEReadLocalP256PublicKey.self, &context) { _, _, _ in
        .init()
      } then: { me, _, context in
        me.host.send(me.keyAgreement.generateKeyPair(from: &me.random, context.cryptography), &context)
      }
    case .leGenerateDHKey:
      answer(packet, as: HCI.LEGenerateDHKey.self, &context) { me, _, _ in
        .init { $0.status = me.keyAgreement.hasKeyPair ? .success : .commandDisallowed }
      } then: { me, command, context in
        me.host.send(me.keyAgreement.generateDHKey(command, context.cryptography), &context)
      }
    case .leEnableEncryption: enableEncryption(packet, &context)
    default: replyToKeyRequest(packet, &context)
    }
  }

  /// Performs LE Enable Encryption: only for the central, one procedure at a time (Vol 4, Part E, 7.8.24).
  private mutating func enableEncryption(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    answer(packet, as: HCI.LEEnableEncryption.self, &context) { me, command, _ in
      guard let index = me.linkIndex(command.connectionHandle) else {
        return .init { $0.status = .unknownConnectionIdentifier }
      }
      let mayBegin = me.links[index].role == .central && me.links[index].encryption == .none
      return .init { $0.status = mayBegin ? .success : .commandDisallowed }
    } then: { me, command, context in
      guard let index = me.linkIndex(command.connectionHandle) else { return }
      let diversifier = me.random.uint128()
      me.links[index].encryption = .requested(
        longTermKey: command.longTermKey, sessionKeyDiversifier: diversifier)
      let request = LinkLayerPDU.encryptionRequest(
        randomNumber: command.randomNumber, encryptedDiversifier: command.encryptedDiversifier,
        sessionKeyDiversifier: diversifier)
      if context.pacing == .airtime, me.links[index].isEncrypted {
        me.links[index].encryptionRequestAfterPause = request
        me.send(.pauseEncryptionRequest, on: index, &context)
      } else {
        me.send(request, on: index, &context)
      }
    }
  }

  /// Confirms the pause of encryption and requests encryption with the new key (Vol 6, Part B, 5.1.3.2).
  mutating func resumeEncryption(on index: Int, _ context: inout RadioContext) {
    guard let request = links[index].encryptionRequestAfterPause else { return }
    links[index].encryptionRequestAfterPause = nil
    send(.pauseEncryptionResponse, on: index, &context)
    send(request, on: index, &context)
  }

  /// Receives LL_ENC_REQ: requests the long term key from the host.
  mutating func receiveEncryptionRequest(
    randomNumber: UInt64, encryptedDiversifier: UInt16, sessionKeyDiversifier: UInt128, on index: Int,
    _ context: inout RadioContext
  ) {
    guard features.contains(.encryption) else {
      return send(.encryptionReject(.unsupportedRemoteFeature), on: index, &context)
    }
    if context.pacing == .airtime { send(.encryptionResponse, on: index, &context) }
    links[index].encryption = .awaitingKey(sessionKeyDiversifier: sessionKeyDiversifier)
    let handle = links[index].handle
    let isAsked = host.send(
      HCI.LELongTermKeyRequest {
        $0.connectionHandle = handle
        $0.randomNumber = randomNumber
        $0.encryptedDiversifier = encryptedDiversifier
      }, &context)
    if !isAsked { rejectEncryption(on: index, &context) }
  }

  private mutating func replyToKeyRequest(_ packet: HCICommandPacket, _ context: inout RadioContext) {
    if packet.opcode == .leLongTermKeyRequestReply {
      answer(packet, as: HCI.LELongTermKeyRequestReply.self, &context) { me, command, _ in
        me.checkKeyReply(on: command.connectionHandle)
      } then: { me, command, context in
        guard let index = me.linkIndex(command.connectionHandle),
          case .awaitingKey(let diversifier) = me.links[index].encryption
        else { return }
        guard let key = try? context.cryptography.encrypt(diversifier, key: command.longTermKey) else {
          return me.rejectEncryption(on: index, &context)
        }
        me.links[index].encryption = .starting
        me.send(.startEncryption(sessionKey: key), on: index, &context)
      }
    } else {
      answer(packet, as: HCI.LELongTermKeyRequestNegativeReply.self, &context) { me, command, _ in
        me.checkKeyReply(on: command.connectionHandle)
      } then: { me, command, context in
        if let index = me.linkIndex(command.connectionHandle) { me.rejectEncryption(on: index, &context) }
      }
    }
  }

  /// The response to the host's answer to a key request: an error if there was none on that link.
  private func checkKeyReply(on handle: ConnectionHandle) -> HCI.LinkResponse {
    let response = HCI.LinkResponse { $0.connectionHandle = handle }
    guard let index = linkIndex(handle) else { return response.refused(.unknownConnectionIdentifier) }
    if case .awaitingKey = links[index].encryption { return response }
    return response.refused(.commandDisallowed)
  }

  /// Rejects encryption without a key. An encrypted link ends (Vol 6, Part B, 5.1.3.2).
  private mutating func rejectEncryption(on index: Int, _ context: inout RadioContext) {
    if links[index].isEncrypted {
      send(.terminate(.pinOrKeyMissing), on: index, &context)
    } else {
      links[index].encryption = .none
      send(.encryptionReject(.pinOrKeyMissing), on: index, &context)
      release(index, &context)
    }
  }

  /// Receives LL_START_ENC_REQ and compares the session keys. They are equal if both hosts gave the same long term key.
  ///
  /// Otherwise the message integrity check of the first encrypted packet fails, and both ends end the link at once.
  mutating func startEncryption(_ sessionKey: UInt128, on index: Int, _ context: inout RadioContext) {
    guard case .requested(let key, let diversifier) = links[index].encryption else { return }
    guard let own = try? context.cryptography.encrypt(diversifier, key: key),
      context.cryptography.areEqual(own, sessionKey)
    else {
      send(.integrityFailure, on: index, &context)
      return close(index, .terminatedMICFailure, &context)
    }
    send(.encryptionStarted, on: index, &context)
    if context.pacing == .airtime {
      links[index].encryption = .starting
    } else {
      finishEncryption(.success, on: index, &context)
    }
  }

  /// Ends the encryption procedure: reports the result to the host and sends the waiting data.
  mutating func finishEncryption(_ status: HCIErrorCode, on index: Int, _ context: inout RadioContext) {
    let handle = links[index].handle
    let wasEncrypted = links[index].isEncrypted
    links[index].encryption = .none
    if status.isSuccess { links[index].isEncrypted = true }
    if wasEncrypted {
      host.send(
        HCI.EncryptionKeyRefreshComplete {
          $0.status = status
          $0.connectionHandle = handle
        }, &context)
    } else if host.allows(.encryptionChangeV2) {
      host.send(
        HCI.EncryptionChangeV2 {
          $0.status = status
          $0.connectionHandle = handle
          $0.encryptionEnabled = status.isSuccess ? .on : .off
          $0.encryptionKeySize = status.isSuccess ? 16 : 0
        }, &context)
    } else {
      host.send(
        HCI.EncryptionChange {
          $0.status = status
          $0.connectionHandle = handle
          $0.encryptionEnabled = status.isSuccess ? .on : .off
        }, &context)
    }
    release(index, &context)
  }
}
