internal import CLibCrypto

// The primitives of encrypted connections on a network: X25519, ChaCha20-Poly1305, SHA-256, HMAC and HKDF. They have no
// part in Bluetooth. An array of 32 octets is a ``UInt256``, whose most significant octet is the first one of the
// array.

/// A private key of X25519 (RFC 7748). Its descriptions do not show it.
package struct X25519PrivateKey: Sendable {
  /// The 32 octets as RFC 7748 writes them: the function clears and sets bits of a copy.
  package let octets: UInt256

  package init(_ octets: UInt256) { self.octets = octets }

  /// A random key.
  package static func random(from source: inout RandomSource) -> Self {
    Self(UInt256(high: source.uint128(), low: source.uint128()))
  }
}

extension X25519PrivateKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// `(secret)`.
  package var description: String { "(secret)" }
  /// `(secret)`.
  package var debugDescription: String { description }
  /// A mirror without children.
  package var customMirror: Mirror { Mirror(self, children: []) }
}

extension LibCrypto {
  /// The public key of a private key (RFC 7748, 6.1).
  package func publicKey(of privateKey: X25519PrivateKey) throws(CryptographyError) -> UInt256 {
    let key = try imported(privateKey)
    defer { EVP_PKEY_free(key) }
    return try withScratch(32) { scratch throws(CryptographyError) in
      var length = 32
      guard EVP_PKEY_get_raw_public_key(key, scratch, &length) == 1, length == 32 else {
        throw .last("EVP_PKEY_get_raw_public_key")
      }
      return UInt256(reading: scratch)
    }
  }

  /// The shared secret of two keys (RFC 7748, 6.1).
  ///
  /// - Returns: nil if the public key is of low order, so that the secret is zero whatever the private key.
  package func sharedSecret(
    _ privateKey: X25519PrivateKey, with peer: UInt256
  ) throws(CryptographyError) -> UInt256? {
    let ownKey = try imported(privateKey)
    defer { EVP_PKEY_free(ownKey) }
    return try withScratch(64) { scratch throws(CryptographyError) in
      peer.write(to: scratch)
      guard let peerKey = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nil, scratch, 32) else {
        throw .last("EVP_PKEY_new_raw_public_key")
      }
      defer { EVP_PKEY_free(peerKey) }
      guard let context = EVP_PKEY_CTX_new(ownKey, nil) else { throw .last("EVP_PKEY_CTX_new") }
      defer { EVP_PKEY_CTX_free(context) }
      guard EVP_PKEY_derive_init(context) == 1 else { throw .last("EVP_PKEY_derive_init") }
      guard EVP_PKEY_derive_set_peer(context, peerKey) == 1 else { throw .last("EVP_PKEY_derive_set_peer") }
      var length = 32
      guard EVP_PKEY_derive(context, scratch + 32, &length) == 1, length == 32 else {
        ERR_clear_error()
        return nil
      }
      return UInt256(reading: scratch + 32)
    }
  }

  private func imported(_ privateKey: X25519PrivateKey) throws(CryptographyError) -> OpaquePointer {
    try withScratch(32) { scratch throws(CryptographyError) in
      privateKey.octets.write(to: scratch)
      guard let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nil, scratch, 32) else {
        throw .last("EVP_PKEY_new_raw_private_key")
      }
      return key
    }
  }

  /// The octets of Base64 (RFC 4648, 4), a multiple of four characters. Each `=` at the end gives an octet 0.
  ///
  /// - Returns: nil for other characters, and for white space between them.
  package static func decodedBase64(_ characters: [UInt8]) -> [UInt8]? {
    var octets = [UInt8](repeating: 0, count: characters.count / 4 * 3)
    let count = octets.withUnsafeMutableBufferPointer { octets -> Int32 in
      guard let start = octets.baseAddress else { return 0 }
      return characters.withUnsafeBufferPointer { EVP_DecodeBlock(start, $0.baseAddress, Int32(clamping: $0.count)) }
    }
    return Int(count) == octets.count ? octets : nil
  }

  /// SHA-256 (FIPS 180-4).
  package func sha256(_ message: Span<UInt8>) throws(CryptographyError) -> UInt256 {
    try withScratch(32) { scratch throws(CryptographyError) in
      var length: UInt32 = 32
      let done = message.withUnsafeBufferPointer {
        EVP_Digest($0.baseAddress, $0.count, scratch, &length, EVP_sha256(), nil)
      }
      guard done == 1, length == 32 else { throw .last("EVP_Digest") }
      return UInt256(reading: scratch)
    }
  }

  /// HMAC with SHA-256 (RFC 2104).
  package func hmacSHA256(_ message: Span<UInt8>, key: Span<UInt8>) throws(CryptographyError) -> UInt256 {
    try withScratch(33) { scratch throws(CryptographyError) in
      var length = 0
      let done = message.withUnsafeBufferPointer { message in
        key.withUnsafeBufferPointer { key in
          // libcrypto rejects a key without an address, even if it is empty.
          EVP_Q_mac(
            nil, "HMAC", nil, "SHA256", nil, key.baseAddress ?? UnsafePointer(scratch + 32), key.count,
            message.baseAddress, message.count, scratch, 32, &length)
        }
      }
      guard done != nil, length == 32 else { throw .last("EVP_Q_mac") }
      return UInt256(reading: scratch)
    }
  }

  /// HKDF with SHA-256 (RFC 5869): the first `count` blocks of 32 octets, at most 255.
  package func hkdfSHA256(
    _ inputKey: Span<UInt8>, salt: Span<UInt8>, info: [UInt8] = [], count: Int
  ) throws(CryptographyError) -> [UInt256] {
    let pseudorandomKey = try hmacSHA256(inputKey, key: salt).bigEndianOctets
    var blocks: [UInt256] = []
    for number in 1...UInt8(clamping: max(1, count)) {
      let message = (blocks.last?.bigEndianOctets ?? []) + info + [number]
      blocks.append(try hmacSHA256(message.span, key: pseudorandomKey.span))
    }
    return blocks
  }
}

/// The nonce of ChaCha20-Poly1305: 12 octets. Noise counts in the last eight.
package struct ChaChaPolyNonce: Hashable, Sendable {
  /// The first four octets, the least significant one first.
  package var prefix: UInt32
  /// The other eight octets, the least significant one first.
  package var counter: UInt64

  package init(prefix: UInt32 = 0, counter: UInt64) { (self.prefix, self.counter) = (prefix, counter) }

  fileprivate func write(to start: UnsafeMutablePointer<UInt8>) {
    for index in 0..<4 { start[index] = UInt8(truncatingIfNeeded: prefix >> UInt32(8 * index)) }
    for index in 0..<8 { start[4 + index] = UInt8(truncatingIfNeeded: counter >> UInt64(8 * index)) }
  }
}

/// Authenticated encryption with ChaCha20-Poly1305 (RFC 8439, 2.8).
extension LibCrypto {
  /// The octets by which the result of ``seal(_:key:nonce:authenticating:to:)`` is longer than its input.
  package static let chaChaPolyTagLength = 16

  /// Appends the encrypted octets and the tag to `buffer`.
  package func seal(
    _ plaintext: Span<UInt8>, key: UInt256, nonce: ChaChaPolyNonce, authenticating data: [UInt8] = [],
    to buffer: inout [UInt8]
  ) throws(CryptographyError) {
    guard let context = EVP_CIPHER_CTX_new() else { throw .last("EVP_CIPHER_CTX_new") }
    defer { EVP_CIPHER_CTX_free(context) }
    let start = buffer.count
    buffer.append(contentsOf: repeatElement(0, count: plaintext.count + Self.chaChaPolyTagLength))
    try withScratch(44) { scratch throws(CryptographyError) in
      key.write(to: scratch)
      nonce.write(to: scratch + 32)
      var length: Int32 = 0
      guard EVP_EncryptInit_ex(context, EVP_chacha20_poly1305(), nil, scratch, scratch + 32) == 1 else {
        throw .last("EVP_EncryptInit_ex")
      }
      try authenticate(data, by: context)
      let done = buffer.withUnsafeMutableBufferPointer { buffer -> Bool in
        guard let output = buffer.baseAddress.map({ $0 + start }) else { return false }
        return plaintext.withUnsafeBufferPointer { plaintext in
          EVP_EncryptUpdate(context, output, &length, plaintext.baseAddress, Int32(plaintext.count)) == 1
            && EVP_EncryptFinal_ex(context, output + plaintext.count, &length) == 1
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, output + plaintext.count) == 1
        }
      }
      guard done else { throw .last("EVP_EncryptUpdate") }
    }
  }

  /// Decrypts octets and the tag behind them.
  ///
  /// - Returns: nil if they are not authentic.
  package func open(
    _ sealed: Span<UInt8>, key: UInt256, nonce: ChaChaPolyNonce, authenticating data: [UInt8] = []
  ) throws(CryptographyError) -> [UInt8]? {
    let count = sealed.count - Self.chaChaPolyTagLength
    guard count >= 0 else { return nil }
    guard let context = EVP_CIPHER_CTX_new() else { throw .last("EVP_CIPHER_CTX_new") }
    defer { EVP_CIPHER_CTX_free(context) }
    return try withScratch(60) { scratch throws(CryptographyError) in
      key.write(to: scratch)
      nonce.write(to: scratch + 32)
      let tag = scratch + 44
      for index in 0..<16 { tag[index] = sealed[count + index] }
      var length: Int32 = 0
      guard EVP_DecryptInit_ex(context, EVP_chacha20_poly1305(), nil, scratch, scratch + 32) == 1,
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, tag) == 1
      else { throw .last("EVP_DecryptInit_ex") }
      try authenticate(data, by: context)
      // One octet more, so that the memory has an address.
      var plaintext = [UInt8](repeating: 0, count: count + 1)
      let done = plaintext.withUnsafeMutableBufferPointer { output -> Bool in
        guard let output = output.baseAddress else { return false }
        return sealed.withUnsafeBufferPointer { sealed in
          EVP_DecryptUpdate(context, output, &length, sealed.baseAddress, Int32(count)) == 1
            && EVP_DecryptFinal_ex(context, output + count, &length) == 1
        }
      }
      guard done else {
        ERR_clear_error()
        return nil
      }
      plaintext.removeLast()
      return plaintext
    }
  }

  private func authenticate(_ data: [UInt8], by context: OpaquePointer) throws(CryptographyError) {
    guard !data.isEmpty else { return }
    var length: Int32 = 0
    let done = data.withUnsafeBufferPointer {
      EVP_CipherUpdate(context, nil, &length, $0.baseAddress, Int32($0.count))
    }
    guard done == 1 else { throw .last("EVP_CipherUpdate") }
  }
}
