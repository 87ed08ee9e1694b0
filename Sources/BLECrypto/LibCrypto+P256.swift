internal import CLibCrypto

extension LibCrypto {
  public func publicKey(of privateKey: P256PrivateKey) throws(CryptographyError) -> P256PublicKey {
    guard let group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1) else {
      throw .last("EC_GROUP_new_by_curve_name")
    }
    defer { EC_GROUP_free(group) }
    guard let point = EC_POINT_new(group) else { throw .last("EC_POINT_new") }
    defer { EC_POINT_free(point) }
    guard let scalar = BN_secure_new() else { throw .last("BN_secure_new") }
    defer { BN_clear_free(scalar) }
    return try withScratch(97) { scratch throws(CryptographyError) in
      privateKey.scalar.write(to: scratch)
      guard BN_bin2bn(scratch, 32, scalar) != nil else { throw .last("BN_bin2bn") }
      BN_set_flags(scalar, BN_FLG_CONSTTIME)
      guard EC_POINT_mul(group, point, scalar, nil, nil, nil) == 1 else { throw .last("EC_POINT_mul") }
      let output = scratch + 32
      guard EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, output, 65, nil) == 65 else {
        throw .last("EC_POINT_point2oct")
      }
      return P256PublicKey(x: UInt256(reading: output + 1), y: UInt256(reading: output + 33))
    }
  }

  public func sharedSecret(
    _ privateKey: P256PrivateKey, with peer: P256PublicKey
  ) throws(CryptographyError) -> UInt256 {
    let peerKey = try imported(peer, privateKey: nil)
    defer { EVP_PKEY_free(peerKey) }
    let ownKey = try imported(try publicKey(of: privateKey), privateKey: privateKey)
    defer { EVP_PKEY_free(ownKey) }

    guard let context = EVP_PKEY_CTX_new_from_pkey(nil, ownKey, nil) else { throw .last("EVP_PKEY_CTX_new_from_pkey") }
    defer { EVP_PKEY_CTX_free(context) }
    guard EVP_PKEY_derive_init(context) == 1 else { throw .last("EVP_PKEY_derive_init") }
    guard EVP_PKEY_derive_set_peer(context, peerKey) == 1 else { throw .last("EVP_PKEY_derive_set_peer") }
    return try withScratch(32) { scratch throws(CryptographyError) in
      var length = 32
      guard EVP_PKEY_derive(context, scratch, &length) == 1, length == 32 else { throw .last("EVP_PKEY_derive") }
      return UInt256(reading: scratch)
    }
  }

  /// A key in libcrypto's representation, which the caller frees.
  ///
  /// - Throws: ``CryptographyError/notOnCurve`` if the public key is not a point of the curve.
  private func imported(
    _ publicKey: P256PublicKey, privateKey: P256PrivateKey?
  ) throws(CryptographyError) -> OpaquePointer {
    guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { throw .last("EVP_PKEY_CTX_new_from_name") }
    defer { EVP_PKEY_CTX_free(context) }
    guard let builder = OSSL_PARAM_BLD_new() else { throw .last("OSSL_PARAM_BLD_new") }
    defer { OSSL_PARAM_BLD_free(builder) }
    guard let scalar = BN_secure_new() else { throw .last("BN_secure_new") }
    defer { BN_clear_free(scalar) }

    return try withScratch(97) { scratch throws(CryptographyError) in
      scratch[0] = 0x04
      publicKey.x.write(to: scratch + 1)
      publicKey.y.write(to: scratch + 33)
      guard OSSL_PARAM_BLD_push_utf8_string(builder, ble_parameter_group(), ble_group_p256(), 0) == 1,
        OSSL_PARAM_BLD_push_octet_string(builder, ble_parameter_public_key(), scratch, 65) == 1
      else { throw .last("OSSL_PARAM_BLD_push") }
      if let privateKey {
        privateKey.scalar.write(to: scratch + 65)
        guard BN_bin2bn(scratch + 65, 32, scalar) != nil,
          OSSL_PARAM_BLD_push_BN_pad(builder, ble_parameter_private_key(), scalar, 32) == 1
        else { throw .last("OSSL_PARAM_BLD_push_BN_pad") }
      }
      guard let parameters = OSSL_PARAM_BLD_to_param(builder) else { throw .last("OSSL_PARAM_BLD_to_param") }
      defer { OSSL_PARAM_free(parameters) }

      var key: OpaquePointer?
      let selection = privateKey == nil ? EVP_PKEY_PUBLIC_KEY_SELECTION : EVP_PKEY_KEYPAIR_SELECTION
      guard EVP_PKEY_fromdata_init(context) == 1 else { throw .last("EVP_PKEY_fromdata_init") }
      guard EVP_PKEY_fromdata(context, &key, selection, parameters) == 1, let key else {
        ERR_clear_error()
        throw .notOnCurve
      }
      if privateKey == nil {
        guard let check = EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else {
          EVP_PKEY_free(key)
          throw .last("EVP_PKEY_CTX_new_from_pkey")
        }
        defer { EVP_PKEY_CTX_free(check) }
        guard EVP_PKEY_public_check(check) == 1 else {
          EVP_PKEY_free(key)
          ERR_clear_error()
          throw .notOnCurve
        }
      }
      return key
    }
  }
}
