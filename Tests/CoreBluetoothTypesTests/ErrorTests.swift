import BLEATT
import BluetoothLE
import Testing

@testable import CoreBluetoothTypes

/// Section 8 of CoreBluetooth's API: the two error types and their open and closed codes.
@Suite struct ErrorTests {
  private func fail(_ error: any Error) throws { throw error }

  @Test func bluetoothErrorsMatchInCatchAndPatterns() {
    do {
      try fail(BluetoothError(.connectionTimeout))
      #expect(Bool(false), "it was thrown")
    } catch BluetoothError.peripheralDisconnected {
      #expect(Bool(false), "another code")
    } catch BluetoothError.connectionTimeout {
    } catch {
      #expect(Bool(false), "\(error)")
    }
    do { try fail(BluetoothError(.alreadyAdvertising)) } catch let error as BluetoothError
      where error.code == .alreadyAdvertising
    {
    } catch { #expect(Bool(false), "\(error)") }
    #expect((BluetoothError(.unknown) as any Error) as? BluetoothError == BluetoothError(.unknown))
    #expect(BluetoothError(.unknown) != BluetoothError(.invalidHandle))
    #expect(!(BluetoothError.Code.unknown ~= ATTError(.success)))
  }

  /// A handler of the Swift API may throw the error: its request is answered with the code.
  @Test(
    arguments: [(0x03, 0x03), (0x80, 0x80), (0xFF, 0xFF), (0x00, 0x0E), (0x100, 0x0E), (-1, 0x0E)] as [(Int, UInt8)])
  func anATTErrorHasTheCodeOfAnErrorResponse(_ number: Int, _ code: UInt8) throws {
    let error = ATTError(try #require(ATTError.Code(rawValue: number)))
    #expect((error as any Error as? any ATTErrorCodeConvertible)?.attErrorCode.rawValue == code)
  }

  @Test func bluetoothErrorsAreNSErrorsOfTheirDomain() {
    let error = BluetoothError(.invalidParameters, userInfo: [NSLocalizedDescriptionKey: "no", "more": 1])
    #expect(error.errorCode == 1 && BluetoothError.errorDomain == "CBErrorDomain")
    #expect(error.localizedDescription == "no" && error.userInfo["more"] as? Int == 1)
    let bridged = error as NSError
    #expect(bridged.domain == "CBErrorDomain" && bridged.code == 1 && bridged.localizedDescription == "no")
    #expect(BluetoothError(.connectionTimeout).localizedDescription == "The connection has timed out unexpectedly.")
  }

  /// Foundation would print "The operation could not be completed. (BLEKit.BLEError error 1.)".
  @Test func anErrorOfTheSwiftAPIHasItsTextInFoundation() async throws {
    let adapter = Adapter(AdapterOptions(transport: "nonsense"))
    let found = await #expect(throws: BLEError.self) { try await adapter.waitUntilPoweredOn() }
    let error = try #require(found)
    #expect((error as any Error).localizedDescription == error.description && error.description.contains("nonsense"))
    adapter.close()
  }

  @Test func bluetoothErrorCodesHaveApplesNumbers() {
    #expect((0...18).allSatisfy { BluetoothError.Code(rawValue: $0) != nil })
    #expect(BluetoothError.Code(rawValue: 19)?.rawValue == 19)
    #expect(BluetoothError.Code.unkownDevice.rawValue == 12 && BluetoothError.unkownDevice == .unknownDevice)
    #expect(BluetoothError.uuidNotAllowed.rawValue == 8 && BluetoothError.alreadyAdvertising.rawValue == 9)
  }

  @Test func anNSErrorOfTheDomainCastsToItsType() {
    let link: any Error = NSError(domain: CBErrorDomain, code: 6, userInfo: ["more": 1])
    #expect((link as? CBError)?.code == .connectionTimeout && (link as? CBError)?.userInfo["more"] as? Int == 1)
    #expect(link as? CBATTError == nil)
    let request: any Error = NSError(domain: CBATTErrorDomain, code: 0x80)
    #expect((request as? CBATTError)?.errorCode == 0x80 && request as? CBError == nil)
    let other: any Error = NSError(domain: "other", code: 6)
    #expect(other as? CBError == nil && other as? CBATTError == nil)
    do { try fail(link) } catch let error as CBError {
      #expect(error.errorCode == 6)
    } catch { #expect(Bool(false), "\(error)") }
    // There and back.
    let error = CBError(.invalidParameters, userInfo: [NSLocalizedDescriptionKey: "no"])
    #expect((error as NSError) as? CBError == error)
    #expect(((CBATTError(.invalidOffset) as NSError) as? CBATTError)?.code == .invalidOffset)
  }

  @Test func anNSErrorOfTheDomainMatchesInCatch() {
    let wrapped: [any Error] = [
      NSError(domain: CBErrorDomain, code: 6), BluetoothError(.connectionTimeout) as NSError,
    ]
    for error in wrapped {
      do { try fail(error) } catch BluetoothError.connectionTimeout { continue } catch {}
      #expect(Bool(false), "\(error) does not match")
    }
    #expect(!(BluetoothError.Code.connectionTimeout ~= NSError(domain: CBATTErrorDomain, code: 6)))
    #expect(ATTError.Code.requestNotSupported ~= NSError(domain: CBATTErrorDomain, code: 6))
  }

  @Test func theNSErrorBehindAnErrorIsKept() {
    let error = NSError(domain: CBErrorDomain, code: 14, userInfo: ["more": 1])
    #expect(BluetoothError(_nsError: error).code == .peerRemovedPairingInformation)
    #expect(BluetoothError(_nsError: error).userInfo["more"] as? Int == 1)
    #expect(BluetoothError(_nsError: error)._nsError === error)
    #expect(ATTError(_nsError: NSError(domain: CBATTErrorDomain, code: 0x80)).code.rawValue == 0x80)
  }

  @Test func attErrorsMatchInCatch() {
    do {
      try fail(ATTError(.attributeNotFound))
      #expect(Bool(false), "it was thrown")
    } catch ATTError.attributeNotFound {
    } catch {
      #expect(Bool(false), "\(error)")
    }
    let bridged = ATTError(.readNotPermitted) as NSError
    #expect(bridged.domain == "CBATTErrorDomain" && bridged.code == 2)
    #expect(bridged.localizedDescription == "Reading is not permitted.")
  }

  @Test(arguments: Array(0...0x11))
  func namedATTCodesGoThereAndBack(number: Int) throws {
    let code = try #require(ATTError.Code(rawValue: number))
    #expect(code.rawValue == number)
    #expect("\(code)" != "Code(rawValue: \(number))", "it has a name")
  }

  @Test(arguments: [0x12, 0x80, 0x9F, 0xE0, 0xFF, 241, -1])
  func otherATTCodesAreKept(number: Int) throws {
    let code = try #require(ATTError.Code(rawValue: number))
    #expect(code.rawValue == number)
    #expect(ATTError(code).localizedDescription == "Unknown ATT error.")
    #expect(code == ATTError.Code(rawValue: number) && code != .success)
    switch code {
    case .success, .unlikelyError: #expect(Bool(false), "another one")
    default: #expect("\(code)" == "Code(rawValue: \(number))", "it has no name")
    }
  }

  @Test func aCodeThatIsMadeFromANamedNumberIsTheNamedOne() throws {
    let code = try #require(ATTError.Code(rawValue: 7))
    #expect(code == .invalidOffset && Set([code, .invalidOffset]).count == 1)
    #expect("\(code)" == "invalidOffset")
  }

  @Test func otherCodesOfCBErrorAreKept() throws {
    let code = try #require(BluetoothError.Code(rawValue: 300))
    #expect(code.rawValue == 300 && code != .unknown && "\(code)" == "Code(rawValue: 300)")
    #expect(BluetoothError(code).code == code)
    #expect("\(BluetoothError(code))" == "Code(rawValue: 300) (CBError 300): Unknown error.")
    #expect(
      "\(BluetoothError(BluetoothError.Code.notConnected))" == "notConnected (CBError 3): The device is not connected.")
  }

  @Test func theDomainsHaveTheNamesOfFoundation() {
    #expect(BluetoothError._nsErrorDomain == "CBErrorDomain" && ATTError._nsErrorDomain == "CBATTErrorDomain")
  }
}
