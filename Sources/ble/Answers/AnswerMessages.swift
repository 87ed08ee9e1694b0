import BLEJSON

/// A question of a pairing that a person answers.
struct AskedQuestion: Equatable, Sendable {
  enum Kind: Equatable, Sendable {
    /// The digits that the device displays are entered.
    case passkey
    /// Whether the device displays this number, too.
    case compare(String)
    /// These digits are entered on the device; there is no answer.
    case display(String)
  }

  /// Identifies the question among all questions of the proxy for the life of its process.
  var id: UInt32
  /// The identity address of the device.
  var device: String
  var kind: Kind
}

/// The answer of a person.
enum PersonalAnswer: Equatable, Sendable {
  case passkey(UInt32)
  case accept
  case reject
}

/// What `ble proxy --answers` sends to `ble answer`: a line of JSON.
enum AnswerNotice: Equatable, Sendable {
  /// Why a question has ended.
  enum End: String, Sendable {
    case answered
    /// Nobody has answered in time.
    case expired
    /// The device has disconnected.
    case disconnected
    /// The device asks anew.
    case replaced
    /// The pairing has ended.
    case over
  }

  /// The first line: the name of the proxy.
  case greeting(proxy: String)
  /// A question, and the whole seconds in which it can be answered.
  case question(AskedQuestion, seconds: Int)
  case ended(id: UInt32, End)
  /// A pairing with questions has ended: with a failure, or with success.
  case result(device: String, failure: String?)
  /// The last line: why the connection is closed.
  case refusal(String)
}

/// What `ble answer` sends to `ble proxy --answers`: a line of JSON.
struct AnswerLine: Equatable, Sendable {
  var id: UInt32
  var answer: PersonalAnswer
}

// MARK: - Lines

/// The members of all lines. A line has those of its kind.
private struct Members: Codable {
  var proxy: String?
  var id: UInt32?
  var device: String?
  var question: String?
  var number: String?
  var seconds: Int?
  var ended: String?
  var paired: Bool?
  var reason: String?
  var refusal: String?
  var passkey: String?
  var accept: Bool?

  /// With the line feed. Strings and numbers can always be encoded.
  var line: [UInt8] { ((try? JSON(encoding: self)).map { Array($0.line.utf8) } ?? []) + [UInt8(ascii: "\n")] }

  init() {}

  init?(line: [UInt8]) {
    guard let members = try? JSON(decoding: line).decode(Self.self) else { return nil }
    self = members
  }
}

extension AskedQuestion.Kind {
  fileprivate var name: String {
    switch self {
    case .passkey: "passkey"
    case .compare: "compare"
    case .display: "display"
    }
  }

  fileprivate var number: String? {
    switch self {
    case .passkey: nil
    case .compare(let number), .display(let number): number
    }
  }

  fileprivate init?(_ name: String, _ number: String?) {
    switch (name, number) {
    case ("passkey", nil): self = .passkey
    case ("compare", let number?): self = .compare(number)
    case ("display", let number?): self = .display(number)
    default: return nil
    }
  }
}

extension AnswerNotice {
  var line: [UInt8] {
    var members = Members()
    switch self {
    case .greeting(let proxy): members.proxy = proxy
    case .question(let asked, let seconds):
      (members.id, members.device, members.seconds) = (asked.id, asked.device, seconds)
      (members.question, members.number) = (asked.kind.name, asked.kind.number)
    case .ended(let id, let end): (members.id, members.ended) = (id, end.rawValue)
    case .result(let device, let failure):
      (members.device, members.paired, members.reason) = (device, failure == nil, failure)
    case .refusal(let reason): members.refusal = reason
    }
    return members.line
  }

  /// - Parameter line: without its line feed.
  /// - Returns: nil for another line.
  init?(line: [UInt8]) {
    guard let members = Members(line: line) else { return nil }
    if let proxy = members.proxy {
      self = .greeting(proxy: proxy)
    } else if let reason = members.refusal {
      self = .refusal(reason)
    } else if let id = members.id, let end = members.ended.flatMap(End.init) {
      self = .ended(id: id, end)
    } else if let device = members.device, let isPaired = members.paired {
      self = .result(device: device, failure: isPaired ? nil : members.reason ?? "the pairing failed")
    } else if let id = members.id, let device = members.device, let seconds = members.seconds,
      let kind = members.question.flatMap({ AskedQuestion.Kind($0, members.number) })
    {
      self = .question(AskedQuestion(id: id, device: device, kind: kind), seconds: seconds)
    } else {
      return nil
    }
  }
}

extension AnswerLine {
  var line: [UInt8] {
    var members = Members()
    members.id = id
    switch answer {
    case .passkey(let passkey):
      let digits = String(passkey)
      members.passkey = String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    case .accept: members.accept = true
    case .reject: members.accept = false
    }
    return members.line
  }

  /// - Parameter line: without its line feed.
  /// - Returns: nil for another line.
  init?(line: [UInt8]) {
    guard let members = Members(line: line), let id = members.id else { return nil }
    switch (members.passkey, members.accept) {
    case (let digits?, nil):
      guard case .value(let passkey?) = PairingQuestions.passkey(digits) else { return nil }
      self.init(id: id, answer: .passkey(passkey))
    case (nil, let accepts?): self.init(id: id, answer: accepts ? .accept : .reject)
    default: return nil
    }
  }
}
