import BluetoothLE
import ProgramOutput

let usageText = """
  usage: reference-peripheral --desc FILE [--transport SPEC] [--snoop FILE]
    --desc FILE       the description (JSON)
    --transport SPEC  the controller, for example tcp-client:127.0.0.1:6402 (default: BLE_TRANSPORT, else linux);
                      given more than once, each of them is such a peripheral
    --snoop FILE      write the packet trace there (btsnoop; default: BLE_SNOOP, else none)
  """

/// The options of the command line, taken one by one.
struct Arguments {
  private var words: [String]

  init(_ words: some Sequence<String>) throws(Failure) { self.words = Array(words) }

  mutating func takeFlag(_ name: String) -> Bool {
    guard let index = words.firstIndex(of: name) else { return false }
    words.remove(at: index)
    return true
  }

  /// The value of `--name VALUE` or `--name=VALUE`; nil where the option is not there.
  mutating func take(_ name: String) throws(Failure) -> String? {
    if let index = words.firstIndex(where: { $0.hasPrefix(name + "=") }) {
      return String(words.remove(at: index).dropFirst(name.count + 1))
    }
    guard let index = words.firstIndex(of: name) else { return nil }
    guard words.indices.contains(index + 1) else { throw .usage("\(name) lacks its value") }
    defer { words.removeSubrange(index...index + 1) }
    return words[index + 1]
  }

  func end() throws(Failure) {
    if let word = words.first { throw .usage("\(word) is no option of this program") }
  }
}

/// Why the program ends, with the status of `sysexits.h`.
enum Failure: Error {
  case usage(String)
  case input(String)
  case data(String)
  case software(String)
  case adapter(AdapterError)

  var text: String {
    switch self {
    case .usage(let text): "\(text)\n\(usageText)"
    case .input(let text), .data(let text), .software(let text): text
    case .adapter(let error): error.text
    }
  }

  var status: Int32 {
    switch self {
    case .usage: 64
    case .data: 65
    case .input: 66
    case .software: 70
    case .adapter(let error): error.exitStatus
    }
  }
}

func say(_ line: String) { Output.write("\(line)\n") }

func warn(_ line: String) { Output.write("reference-peripheral: \(line)\n", to: STDERR_FILENO) }

func fail(_ failure: Failure) -> Never {
  warn(failure.text)
  Manager.shutDownAll()
  exit(Output.isClosed ? Output.closedStatus : failure.status)
}
