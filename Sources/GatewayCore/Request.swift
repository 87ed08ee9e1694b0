import BLEAssignedNumbers
public import BLEWire
public import FoundationEssentials
import ToolCore

/// A request of a client of the broker for a characteristic.
public struct Request: Equatable, Sendable {
  public enum Kind: Equatable, Sendable {
    case read
    /// A Write Request, or a Write Command if no response is wanted. Nil is a Write Request if the characteristic
    /// offers them.
    case write([UInt8], wantsResponse: Bool?)
  }

  public let kind: Kind
  /// The identifier that the client has chosen for the answer; at most 64 octets.
  public let id: String?

  /// The word in the answer.
  public var operation: String {
    switch kind {
    case .read: "read"
    case .write: "write"
    }
  }

  public init(kind: Kind, id: String? = nil) {
    self.kind = kind
    self.id = id
  }

  private struct Fields: Decodable {
    var hex: String?
    var text: String?
    var value: Double?
    var id: String?
    var response: Bool?
  }

  /// Reads the payload of a read request: nothing, or `{"id":"7"}`.
  ///
  /// - Throws: ``GatewayError`` with the kind `request`.
  public static func read(_ payload: Data) throws(GatewayError) -> Self {
    if payload.isEmpty { return Self(kind: .read) }
    return Self(kind: .read, id: try identifier(fields(payload)))
  }

  /// Reads the payload of a write request: `01ff`, `{"hex":"01ff","id":"7","response":false}`, `{"text":"on"}` or
  /// `{"value":21.5}`.
  ///
  /// A message without payload, which removes a retained one, is no write; `{"hex":""}` writes no octets.
  ///
  /// - Parameter uuid: the characteristic, for the format of a number.
  /// - Throws: ``GatewayError`` with the kind `request`.
  public static func write(_ payload: Data, of uuid: BluetoothUUID) throws(GatewayError) -> Self {
    if payload.isEmpty {
      throw GatewayError(.request, "the payload is empty. Publish {\"hex\":\"\"} to write a value without octets")
    }
    guard payload.first == UInt8(ascii: "{") else {
      let text = String(decoding: payload, as: UTF8.self)
      return Self(kind: .write(try bareOctets(text, uuid), wantsResponse: nil))
    }
    let fields = try fields(payload)
    let value: [UInt8]
    switch (fields.hex, fields.text, fields.value) {
    case (let hex?, nil, nil): value = try octets(hex)
    case (nil, let text?, nil): value = Array(text.utf8)
    case (nil, nil, let number?): value = try octets(of: number, uuid)
    default:
      throw GatewayError(.request, "a write needs one of 'hex', 'text' and 'value', such as {\"hex\":\"01ff\"}")
    }
    // An attribute value has at most 512 octets (Vol 3, Part F, 3.2.9).
    guard value.count <= 512 else {
      throw GatewayError(.request, "the value has \(value.count) octets; 512 are the maximum")
    }
    return Self(kind: .write(value, wantsResponse: fields.response), id: try identifier(fields))
  }

  private static func fields(_ payload: Data) throws(GatewayError) -> Fields {
    guard payload.count <= 4096 else {
      throw GatewayError(.request, "the payload has more than 4096 octets")
    }
    do { return try JSONDecoder().decode(Fields.self, from: payload) } catch let error as DecodingError {
      throw GatewayError(.request, text(of: error))
    } catch {
      throw GatewayError(.request, malformed)
    }
  }

  private static let malformed = "the payload is not a JSON object such as {\"id\":\"7\"}"

  /// What is wrong with which member.
  private static func text(of error: DecodingError) -> String {
    let context: DecodingError.Context? =
      switch error {
      case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
        .dataCorrupted(let context):
        context
      @unknown default: nil
      }
    guard let member = context?.codingPath.first?.stringValue else { return malformed }
    let expected =
      switch member {
      case "value": "a number without a unit and without quotation marks, such as {\"value\":21.5}"
      case "response": "true or false"
      case "hex": "pairs of hexadecimal digits in quotation marks, such as {\"hex\":\"01ff\"}"
      default: "text in quotation marks, such as {\"\(member)\":\"on\"}"
      }
    return "'\(member)' takes \(expected)"
  }

  private static func identifier(_ fields: Fields) throws(GatewayError) -> String? {
    guard let id = fields.id, id.utf8.count > 64 else { return fields.id }
    throw GatewayError(.request, "'id' is longer than 64 octets")
  }

  private static func octets(of number: Double, _ uuid: BluetoothUUID) throws(GatewayError) -> [UInt8] {
    guard let format = WritableNumber(uuid) else {
      throw GatewayError(.request, "characteristic \(uuid.uuidString) has no number that is known here. Use 'hex'")
    }
    guard let octets = format.octets(of: number) else {
      throw GatewayError(
        .request,
        "\(number) is not a number from \(format.minimum) to \(format.maximum) that the characteristic can have")
    }
    return octets
  }

  /// Digits without a word that says what they are. A number was meant if they are too few or too many octets.
  private static func bareOctets(_ text: String, _ uuid: BluetoothUUID) throws(GatewayError) -> [UInt8] {
    let number = Double(text).flatMap { WritableNumber(uuid)?.octets(of: $0) == nil ? nil : text }
    let advice = number.map { ". For a number publish {\"value\":\($0)}" } ?? ""
    let octets: [UInt8]
    do throws(GatewayError) { octets = try Self.octets(text) } catch {
      throw GatewayError(error.kind, error.text + advice)
    }
    guard let length = FixedLength.octets(of: uuid), length != octets.count else { return octets }
    let name = AssignedNames.uuid(uuid) ?? uuid.uuidString
    throw GatewayError(
      .request,
      "'\(text.prefix(40))' is \(FixedLength.text(octets.count)), and \(name) has \(FixedLength.text(length))\(advice)"
        + ". For octets of any length publish {\"hex\":\"\(text.prefix(40))\"}")
  }

  private static func octets(_ hex: String) throws(GatewayError) -> [UInt8] {
    let digits = Array(hex.utf8)
    let malformed = GatewayError(.request, "'\(hex.prefix(40))' is not an even number of hexadecimal digits")
    guard digits.count.isMultiple(of: 2), digits.count <= 1024 else { throw malformed }
    var octets: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      // UInt8(_:radix:) also accepts a sign.
      let pair = String(decoding: digits[index...index + 1], as: UTF8.self)
      guard pair.allSatisfy(\.isHexDigit), let octet = UInt8(pair, radix: 16) else { throw malformed }
      octets.append(octet)
    }
    return octets
  }
}
