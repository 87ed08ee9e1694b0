internal import CLibCrypto

/// The primitives of OpenSSL's libcrypto, version 3.
///
/// The value has no state, so all threads can share it. Copies of secrets in its own memory are overwritten before the
/// memory is released.
public struct LibCrypto: Cryptography {
  /// The installed libcrypto.
  public init() {}

  public func encrypt(_ plaintext: UInt128, key: UInt128) throws(CryptographyError) -> UInt128 {
    guard let context = EVP_CIPHER_CTX_new() else { throw .last("EVP_CIPHER_CTX_new") }
    defer { EVP_CIPHER_CTX_free(context) }
    return try withScratch(48) { scratch throws(CryptographyError) in
      let (input, output) = (scratch + 16, scratch + 32)
      key.write(to: scratch)
      plaintext.write(to: input)
      var length: Int32 = 0
      guard EVP_EncryptInit_ex(context, EVP_aes_128_ecb(), nil, scratch, nil) == 1,
        EVP_CIPHER_CTX_set_padding(context, 0) == 1
      else { throw .last("EVP_EncryptInit_ex") }
      guard EVP_EncryptUpdate(context, output, &length, input, 16) == 1, length == 16 else {
        throw .last("EVP_EncryptUpdate")
      }
      return UInt128(reading: output)
    }
  }

  public func cmac(_ message: Span<UInt8>, key: UInt128) throws(CryptographyError) -> UInt128 {
    try withScratch(32) { scratch throws(CryptographyError) in
      let output = scratch + 16
      key.write(to: scratch)
      var length = 0
      let done = message.withUnsafeBufferPointer { message in
        EVP_Q_mac(
          nil, "CMAC", nil, "AES-128-CBC", nil, scratch, 16, message.baseAddress, message.count, output, 16, &length)
      }
      guard done != nil, length == 16 else { throw .last("EVP_Q_mac") }
      return UInt128(reading: output)
    }
  }

  public func areEqual(_ a: UInt128, _ b: UInt128) -> Bool {
    var (a, b) = (a, b)
    defer {
      OPENSSL_cleanse(&a, 16)
      OPENSSL_cleanse(&b, 16)
    }
    return CRYPTO_memcmp(&a, &b, 16) == 0
  }
}

/// Calls `body` with `count` octets of memory, which are overwritten afterwards.
func withScratch<Value>(
  _ count: Int, _ body: (UnsafeMutablePointer<UInt8>) throws(CryptographyError) -> Value
) throws(CryptographyError) -> Value {
  let result = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) {
    buffer -> Result<Value, CryptographyError> in
    buffer.initialize(repeating: 0)
    guard let start = buffer.baseAddress else { return .failure(.library(function: "alloca", code: 0)) }
    defer { OPENSSL_cleanse(start, count) }
    do throws(CryptographyError) { return .success(try body(start)) } catch { return .failure(error) }
  }
  return try result.get()
}

extension CryptographyError {
  /// The latest error in libcrypto's queue; the queue is emptied.
  static func last(_ function: String) -> Self {
    var code: UInt = 0
    while true {
      let next = ERR_get_error()
      guard next != 0 else { break }
      code = UInt(next)
    }
    return .library(function: function, code: code)
  }
}

extension UInt128 {
  /// Writes 16 octets, most significant first.
  func write(to start: UnsafeMutablePointer<UInt8>) {
    for index in 0..<16 { start[index] = UInt8(truncatingIfNeeded: self >> (120 - 8 * index)) }
  }

  /// Reads 16 octets, most significant first.
  init(reading start: UnsafePointer<UInt8>) {
    self = (0..<16).reduce(0) { $0 << 8 | UInt128(start[$1]) }
  }
}

extension UInt256 {
  func write(to start: UnsafeMutablePointer<UInt8>) {
    high.write(to: start)
    low.write(to: start + 16)
  }

  init(reading start: UnsafePointer<UInt8>) {
    self.init(high: UInt128(reading: start), low: UInt128(reading: start + 16))
  }
}
