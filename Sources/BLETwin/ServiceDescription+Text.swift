import BLEJSON
import BLETrace
package import BLEWire
import ToolCore

extension ServiceDescription {
  /// A description of a device that was seen.
  package init(name: String, appearance: UInt16?, advertise: [BluetoothUUID]?, services: [Service]) {
    self.name = name
    self.appearance = appearance
    self.advertise = advertise
    self.services = services
  }

  /// The file with this description: a characteristic on each line, and the parts of its behaviour on lines below.
  package var text: String {
    var lines = ["  \"name\": \(Self.quoted(name))"]
    if let appearance { lines.append("  \"appearance\": \(appearance)") }
    if let advertise { lines.append("  \"advertise\": \(Self.list(advertise.map(\.uuidString)))") }
    if let advertising { lines.append("  \"advertising\": {\(advertising.fieldTexts.joined(separator: ", "))}") }
    if let periodic {
      let (data, interval) = (periodic.data[...].hexadecimal, periodic.interval)
      lines.append("  \"periodic\": {\"data\": \"\(data)\", \"interval\": \(interval)}")
    }
    if let address { lines.append("  \"address\": \"\(address.text)\"") }
    if let mtu { lines.append("  \"mtu\": \(mtu)") }
    if let connection { lines.append("  \"connection\": {\(connection.fieldTexts.joined(separator: ", "))}") }
    if let pairing { lines.append("  \"pairing\": {\(pairing.fieldTexts.joined(separator: ", "))}") }
    let services = services.map(\.text).joined(separator: ",\n")
    lines.append("  \"services\": [\(services.isEmpty ? "" : "\n\(services)\n  ")]")
    return "{\n\(lines.joined(separator: ",\n"))\n}\n"
  }

  /// Text in quotation marks, without characters that a terminal interprets.
  fileprivate static func quoted(_ text: String) -> String { JSON.string(text).line.printableJSON }

  fileprivate static func list(_ texts: [String]) -> String { "[\(texts.map(quoted).joined(separator: ", "))]" }

  /// The value as `ble read` prints it, where that stands for these octets; text where it is text and nothing else.
  fileprivate static func valueText(_ value: [UInt8], of uuid: BluetoothUUID) -> String {
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

extension ServiceDescription.Advertising {
  fileprivate var fieldTexts: [String] {
    var fields = ["\"data\": \"\(data[...].hexadecimal)\""]
    if !scanResponse.isEmpty { fields.append("\"scan_response\": \"\(scanResponse[...].hexadecimal)\"") }
    if let interval { fields.append("\"interval\": \(interval)") }
    if isExtended { fields.append("\"extended\": true") }
    if !isConnectable { fields.append("\"connectable\": false") }
    return fields
  }
}

extension ServiceDescription.Address {
  fileprivate var text: String {
    switch self {
    case .publicAddress: "public"
    case .staticRandom: "static"
    case .resolvable: "resolvable"
    case .given(let address): "\(address)"
    }
  }
}

extension ServiceDescription.Connection {
  fileprivate var fieldTexts: [String] {
    [
      "\"after\": \(delay)", "\"interval\": [\(interval.lowerBound), \(interval.upperBound)]",
      "\"latency\": \(latency)",
      "\"timeout\": \(timeout)",
    ]
  }
}

extension ServiceDescription.Pairing {
  fileprivate var fieldTexts: [String] {
    var fields = isEnabled ? [] : ["\"enabled\": false"]
    if let capability { fields.append("\"capability\": \"\(capability.rawValue)\"") }
    if !isBonding { fields.append("\"bonding\": false") }
    if !hasSecureConnections { fields.append("\"secure_connections\": false") }
    if let requestDelay { fields.append("\"request_after\": \(requestDelay)") }
    return fields
  }
}

extension ServiceDescription.Service {
  fileprivate var text: String {
    var fields = ["\"uuid\": \"\(uuid.uuidString)\""]
    if !isPrimary { fields.append("\"primary\": false") }
    if let handles {
      fields.append("\"handle\": \(handles.lowerBound)")
      fields.append("\"end\": \(handles.upperBound)")
    }
    if !includes.isEmpty {
      let texts = includes.map { "{\"handle\": \($0.handle), \"value\": \"\($0.value[...].hexadecimal)\"}" }
      fields.append("\"includes\": [\(texts.joined(separator: ", "))]")
    }
    let lines = characteristics.map { "        {\($0.text)}" }.joined(separator: ",\n")
    fields.append("\"characteristics\": [\(lines.isEmpty ? "" : "\n\(lines)\n      ")]")
    return "    {\n\(fields.map { "      \($0)" }.joined(separator: ",\n"))\n    }"
  }
}

extension ServiceDescription.Characteristic {
  fileprivate var text: String {
    var fields = [
      "\"uuid\": \"\(uuid.uuidString)\"",
      "\"properties\": \(ServiceDescription.list(properties.map(\.rawValue)))",
    ]
    if !value.isEmpty {
      fields.append("\"value\": \(ServiceDescription.quoted(ServiceDescription.valueText(value, of: uuid)))")
    }
    if security != .none { fields.append("\"security\": \"\(security.rawValue)\"") }
    if let description { fields.append("\"description\": \(ServiceDescription.quoted(description))") }
    return (fields + twinFields).joined(separator: ", ")
  }

  private var twinFields: [String] {
    guard let handle else { return [] }
    var fields = ["\"handle\": \(handle)"]
    if let valueHandle { fields.append("\"value_handle\": \(valueHandle)") }
    if !otherProperties.isEmpty {
      fields.append("\"more_properties\": \(ServiceDescription.list(otherProperties.map(\.rawValue)))")
    }
    if !descriptors.isEmpty {
      fields.append("\"descriptors\": [\(descriptors.map { "{\($0.text)}" }.joined(separator: ", "))]")
    }
    if secures.count < ServiceDescription.Access.allCases.count {
      let words = ServiceDescription.Access.allCases.filter(secures.contains).map(\.rawValue)
      fields.append("\"secures\": \(ServiceDescription.list(words))")
    }
    if let refusal { fields.append("\"refusal\": \(refusal)") }
    if !reads.isEmpty { fields.append("\"reads\": [\(reads.map { $0.text(of: uuid) }.joined(separator: ", "))]") }
    if !subscriptions.isEmpty {
      let texts = subscriptions.map { updates in
        "\n          [\(updates.map { "{\($0.text(of: uuid))}" }.joined(separator: ",\n           "))]"
      }
      fields.append("\"subscriptions\": [\(texts.joined(separator: ","))]")
    }
    if !writes.isEmpty {
      let texts = writes.map { "\n          {\($0.text(of: uuid))}" }
      fields.append("\"writes\": [\(texts.joined(separator: ","))]")
    }
    return fields
  }
}

extension ServiceDescription.Descriptor {
  fileprivate var text: String {
    var fields = ["\"uuid\": \"\(uuid.uuidString)\"", "\"handle\": \(handle)"]
    if !value.isEmpty {
      fields.append("\"value\": \(ServiceDescription.quoted(ServiceDescription.valueText(value, of: uuid)))")
    }
    return fields.joined(separator: ", ")
  }
}

extension ServiceDescription.ReadAnswer {
  /// - Parameter uuid: the type of the value; nil for one that is written as octets.
  fileprivate func text(of uuid: BluetoothUUID?) -> String {
    switch self {
    case .value(let value):
      ServiceDescription.quoted(
        uuid.map { ServiceDescription.valueText(value, of: $0) } ?? "hex:\(value[...].hexadecimal)")
    case .error(let code): "{\"error\": \(code)}"
    }
  }
}

extension ServiceDescription.Update {
  fileprivate func text(of uuid: BluetoothUUID) -> String {
    var fields = ["\"after\": \(delay)"]
    if disconnects { return (fields + ["\"disconnect\": true"]).joined(separator: ", ") }
    if requestsSecurity { return (fields + ["\"security_request\": true"]).joined(separator: ", ") }
    if let connection {
      let texts = connection.fieldTexts.dropFirst().joined(separator: ", ")
      return (fields + ["\"connection\": {\(texts)}"]).joined(separator: ", ")
    }
    if let handle { fields.append("\"handle\": \(handle)") }
    let shown =
      handle == nil ? ServiceDescription.valueText(value, of: uuid) : "hex:\(value[...].hexadecimal)"
    fields.append("\"value\": \(ServiceDescription.quoted(shown))")
    if isBeforeAnswer { fields.append("\"before_answer\": true") }
    return fields.joined(separator: ", ")
  }
}

extension ServiceDescription.Write {
  fileprivate func text(of uuid: BluetoothUUID) -> String {
    var fields = ["\"value\": \(ServiceDescription.quoted(ServiceDescription.valueText(value, of: uuid)))"]
    if let error { fields.append("\"error\": \(error)") }
    if delay > 0 { fields.append("\"delay\": \(delay)") }
    if !updates.isEmpty {
      let texts = updates.map { "{\($0.text(of: uuid))}" }
      fields.append("\"then\": [\(texts.joined(separator: ",\n           "))]")
    }
    if !reads.isEmpty {
      let texts = reads.map { values in
        let answers = values.values.map { $0.text(of: nil) }.joined(separator: ", ")
        return "{\"handle\": \(values.handle), \"values\": [\(answers)]}"
      }
      fields.append("\"reads\": [\(texts.joined(separator: ", "))]")
    }
    return fields.joined(separator: ", ")
  }
}
