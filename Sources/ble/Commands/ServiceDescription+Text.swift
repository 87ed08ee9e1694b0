import BLEJSON
import BLETrace
import BLEWire
import ToolCore

extension ServiceDescription {
  /// A description of a device that was seen.
  init(name: String, appearance: UInt16?, advertise: [BluetoothUUID]?, services: [Service]) {
    self.name = name
    self.appearance = appearance
    passkey = nil
    self.advertise = advertise
    self.services = services
  }

  /// The file with this description: a characteristic on each line.
  var text: String {
    var lines = ["  \"name\": \(Self.quoted(name))"]
    if let appearance { lines.append("  \"appearance\": \(appearance)") }
    if let advertise { lines.append("  \"advertise\": \(Self.list(advertise.map(\.uuidString)))") }
    let services = services.map(\.text).joined(separator: ",\n")
    lines.append("  \"services\": [\(services.isEmpty ? "" : "\n\(services)\n  ")]")
    return "{\n\(lines.joined(separator: ",\n"))\n}\n"
  }

  /// Text in quotation marks, without characters that a terminal interprets.
  fileprivate static func quoted(_ text: String) -> String { Output.escaped(JSON.string(text).line) }

  fileprivate static func list(_ texts: [String]) -> String { "[\(texts.map(quoted).joined(separator: ", "))]" }
}

extension ServiceDescription.Service {
  fileprivate var text: String {
    let kind = isPrimary ? "" : "      \"primary\": false,\n"
    let lines = characteristics.map { "        {\($0.text)}" }.joined(separator: ",\n")
    return "    {\n      \"uuid\": \"\(uuid.uuidString)\",\n\(kind)      \"characteristics\": "
      + "[\(lines.isEmpty ? "" : "\n\(lines)\n      ")]\n    }"
  }
}

extension ServiceDescription.Characteristic {
  fileprivate var text: String {
    var fields = [
      "\"uuid\": \"\(uuid.uuidString)\"",
      "\"properties\": \(ServiceDescription.list(properties.map(\.rawValue)))",
    ]
    if !value.isEmpty { fields.append("\"value\": \(ServiceDescription.quoted(valueText))") }
    if security != .none { fields.append("\"security\": \"\(security.rawValue)\"") }
    if let description { fields.append("\"description\": \(ServiceDescription.quoted(description))") }
    return fields.joined(separator: ", ")
  }

  /// The value as `ble read` prints it, where that stands for these octets; text where it is text and nothing else.
  private var valueText: String {
    if !uuid.isTextType, let number = uuid.number, let shown = ValueText.decoded(value[...], of: number),
      (try? TypedValue.octets(shown, of: uuid)) == value
    {
      return shown
    }
    guard uuid.isTextType, let text = String(validating: value, as: UTF8.self),
      text.unicodeScalars.allSatisfy(String.isPrintable)
    else {
      // A device may have a value of a length that its type excludes.
      let isOfItsType = FixedLength.octets(of: uuid).map { $0 == value.count } ?? true
      return "\(isOfItsType ? "" : "hex:")\(value[...].hexadecimal)"
    }
    return "text:\(text)"
  }
}
